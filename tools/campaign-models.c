/* SPDX-License-Identifier: MIT
 *
 * The models of a folder, for `gemel campaign`: all files in it and the folders in it that end as
 * models do.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "campaign.h"

static void push(gemel__campaign_models *list, char *name, int problem) {
  list->items = gemel__need(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = (gemel__campaign_model){name, problem};
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const gemel__campaign_model *)a)->name, ((const gemel__campaign_model *)b)->name);
}

/* A folder that is a link isn't entered: links may go round in circles. */
static int is_link(const char *path) {
  struct stat about;
  return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

/* What NAME, in ROOT, is: a model goes to MODELS, a folder to FOLDERS; what can't be looked at may
 * be either. */
static void sort_entry(const char *root, const char *suffix, char *name,
                       gemel__campaign_models *models, gemel__campaign_models *folders) {
  char *full = gemel__need_text("%s/%s", root, name);
  struct stat about;
  int is_there = stat(full, &about) == 0, is_named = gemel__ends_in(name, suffix);
  int problem = is_there || (!is_named && (errno == ENOENT || errno == ELOOP)) ? 0 : errno;
  if (is_there && S_ISDIR(about.st_mode) && !is_link(full)) {
    push(folders, name, 0);
  } else if (problem != 0 || (is_there && S_ISREG(about.st_mode) && is_named)) {
    push(models, name, problem);
  } else {
    free(name);
  }
  free(full);
}

/* The entries of folder BELOW of ROOT: models go to MODELS, folders to FOLDERS. 0, or errno of why
 * they can't be read. */
static int read_folder(const char *root, const char *suffix, const char *below,
                       gemel__campaign_models *models, gemel__campaign_models *folders) {
  char *path = gemel__need_text("%s/%s", root, below);
  DIR *folder = opendir(path);
  int problem = folder == NULL ? errno : 0;
  for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.') {
      const char *between = below[0] != '\0' ? "/" : "";
      char *name = gemel__need_text("%s%s%s", below, between, entry->d_name);
      sort_entry(root, suffix, name, models, folders);
    }
  }
  if (folder != NULL) {
    closedir(folder);
  }
  free(path);
  return problem;
}

void gemel__campaign_forget(gemel__campaign_models *list) {
  for (size_t k = 0; k < list->count; k++) {
    free(list->items[k].name);
  }
  free(list->items);
}

int gemel__campaign_find(const char *root, const char *suffix, gemel__campaign_models *models) {
  gemel__campaign_models folders = {NULL, 0};
  int problem = read_folder(root, suffix, "", models, &folders);
  for (size_t k = 0; k < folders.count; k++) {
    const char *name = folders.items[k].name;
    int closed = read_folder(root, suffix, name, models, &folders);
    if (closed != 0) {
      push(models, gemel__need_text("%s", name), closed);
    }
  }
  gemel__campaign_forget(&folders);
  if (models->count > 0) {
    qsort(models->items, models->count, sizeof *models->items, by_name);
  }
  return problem == 0 ? GEMEL__GOOD : gemel__complain("%s: %s", root, strerror(problem));
}
