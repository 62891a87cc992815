/* SPDX-License-Identifier: MIT
 *
 * Pages of HTML (page.h). All of them have one style, which is in the page itself: colours for a
 * light and a dark screen, and widths for a telephone, where long lines are broken and tables
 * scroll in a box of their own. The page forbids scripts, but one that is named by its hash, and
 * anything from elsewhere (Content-Security-Policy), so that a name that got through unescaped
 * would do nothing.
 */
#include "page.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "core/lex.h"
#include "tool.h"

/* A text of more lines or bytes is folded. */
enum { FOLD_LINES = 24, FOLD_BYTES = 2400 };

const char *gemel__tone_class(gemel__tone tone) {
  static const char *const classes[] = {
#define TONE_CLASS(NAME, text) text,
      GEMEL__TONE_TABLE(TONE_CLASS)
#undef TONE_CLASS
  };
  return classes[tone];
}

/* ---- Text from outside ---- */

/* 1 for characters that change the direction of those around them, so that "a.gmt" may look like
 * another name: U+202A to U+202E, U+2066 to U+2069. */
static int turns_text(const unsigned char *c) {
  return c[0] == 0xe2 && ((c[1] == 0x80 && c[2] >= 0xaa && c[2] <= 0xae) ||
                          (c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9));
}

size_t gemel__character(const char *text) {
  const unsigned char *c = (const unsigned char *)text;
  size_t length = gemel__utf8_bytes(text, text + strnlen(text, 4));
  int is_control = (length == 1 && (*c < 0x20 || *c == 0x7f)) ||
                   (length == 2 && *c == 0xc2 && c[1] < 0xa0); /* U+0080 to U+009F */
  int is_no_character = length == 3 && (memcmp(text, "\xef\xbf\xbe", 3) == 0 || /* U+FFFE */
                                        memcmp(text, "\xef\xbf\xbf", 3) == 0 || turns_text(c));
  return is_control || is_no_character ? 0 : length;
}

void gemel__escape(FILE *file, const char *text) {
  static const char special[] = "&<>\"";
  static const char *const meant[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
  size_t length;
  for (; text != NULL && *text != '\0'; text += length > 0 ? length : 1) {
    const char *at = strchr(special, *text);
    length = gemel__character(text);
    if (at != NULL) {
      fputs(meant[at - special], file);
    } else if (length > 0 || *text == '\n') {
      fwrite(text, 1, length > 0 ? length : 1, file);
    } else if ((unsigned char)*text >= 0x80) {
      fputc('?', file);
    }
  }
}

/* ---- The head ---- */

static const char style[] =
    ":root { color-scheme: light dark; --page: #fff; --box: #f5f7f9; --ink: #1b2430; --dim: "
    "#566373; "
    "--line: #d9dfe6; --link: #0b57b0;\n"
    "  --good: #14622f; --good-box: #e4f5e9; --bad: #b01e14; --bad-box: #fdeceb; --open: #7d5200; "
    "--open-box: #fcf2da; --na-box: #eceff3 }\n"
    "@media (prefers-color-scheme: dark) { :root { --page: #12161c; --box: #1b212a; --ink: "
    "#e4e9ef; "
    "--dim: #9ba8b6; --line: #333d49; --link: #7fb5ff;\n"
    "  --good: #83d69e; --good-box: #16311f; --bad: #ffa097; --bad-box: #401c1a; --open: #f0c572; "
    "--open-box: #362b12; --na-box: #262e38 } }\n"
    ".passed { --tone: var(--good); --tint: var(--good-box) } "
    ".refuted { --tone: var(--bad); --tint: var(--bad-box) }\n"
    ".open { --tone: var(--open); --tint: var(--open-box) } "
    ".na { --tone: var(--dim); --tint: var(--na-box) }\n"
    "* { box-sizing: border-box }\n"
    "body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 0 auto; padding: 1rem; "
    "color: var(--ink); background: var(--page); overflow-wrap: anywhere; "
    "-webkit-text-size-adjust: 100% }\n"
    "a { color: var(--link) } code, pre { font: 0.875em/1.5 ui-monospace, monospace } h1, h2, h3, "
    "p, "
    "ul, dl, dd, figure { margin: 0; padding: 0 }\n"
    "h1 { font-size: 1.1rem; font-weight: 600 } h2 { font-size: 1.25rem; margin: 2rem 0 0.5rem } "
    "h3 { font-size: 1rem; display: inline }\n"
    ".banner { border-left: 6px solid var(--tone); border-radius: 6px; background: var(--tint); "
    "padding: 1rem 1.25rem }\n"
    ".verdict { font-size: 2rem; font-weight: 700; line-height: 1.25; color: var(--tone) }\n"
    ".counts { display: flex; flex-wrap: wrap; gap: 0.4rem; margin-top: 0.6rem }\n"
    ".tag { display: inline-block; padding: 0 0.6em; border-radius: 1em; font-size: 0.875rem; "
    "font-weight: 600; color: var(--tone); background: var(--tint) }\n"
    ".banner .tag { background: var(--page) }\n"
    ".facts { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0.15rem 1rem; "
    "margin: 1rem 0; font-size: 0.9375rem } dt, .dim { color: var(--dim) }\n"
    "pre { background: var(--box); border-radius: 6px; margin: 0.5rem 0; padding: 0.6rem 0.75rem; "
    "white-space: pre-wrap }\n"
    ".facts pre { background: none; margin: 0; padding: 0 }\n"
    "summary { cursor: pointer } .card { border: 1px solid var(--line); border-radius: 6px; "
    "padding: 0.4rem 0.75rem; margin: 0.5rem 0 }\n"
    ".card[open] { padding-bottom: 0.75rem } section { scroll-margin-top: 4rem; margin-top: 0.5rem "
    "}\n"
    "ul { list-style: none } li { border-left: 3px solid var(--tone); padding-left: 0.75rem; "
    "margin: 0.6rem 0 }\n"
    ".wide { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px }\n"
    "table { border-collapse: collapse; width: 100%; font-size: 0.875rem; overflow-wrap: normal } "
    "td, th { padding: 0.25rem 0.6rem; text-align: left; vertical-align: top; "
    "white-space: nowrap }\n"
    "tr + tr td { border-top: 1px solid var(--line) } th { background: var(--box) } "
    "td[class] { color: var(--tone) }\n"
    "td.refuted, td.open { font-weight: 600; background: var(--tint) } "
    ".name, .more { white-space: normal; overflow-wrap: anywhere; min-width: 11rem } "
    ".more { min-width: 12rem }\n"
    "label { white-space: nowrap; margin-right: 0.75rem } input { font: inherit } "
    "input[type=search] "
    "{ width: 16rem; max-width: 100%; margin-right: 0.75rem } #models th { cursor: pointer }\n"
    "svg { display: block; width: 100%; height: auto; margin: 0.5rem 0 } svg text { font-size: "
    "12px; "
    "fill: var(--dim) } .plot { max-width: 27rem } .bars { max-width: 24rem }\n"
    ".axes rect { fill: none; stroke: var(--dim) } .axes line { stroke: var(--dim); "
    "stroke-dasharray: 4 } .axes .bound { stroke: var(--bad); stroke-dasharray: none }\n"
    "circle, .after { fill: var(--link); fill-opacity: 0.7 } .before { fill: var(--dim) }\n";

static void print_names(FILE *file, const gemel__page *page, const char *before,
                        const char *after) {
  if (page->what[0] != '\0') {
    fprintf(file, "%s%s", page->what[0] != ':' ? " " : "", page->what);
  }
  for (size_t k = 0; k < page->n_names; k++) {
    fputs(k > 0 ? " and " : " ", file);
    fputs(before, file);
    gemel__escape(file, page->names[k]);
    fputs(after, file);
  }
}

void gemel__page_begin(FILE *file, const gemel__page *page) {
  fprintf(file,
          "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
          "style-src 'unsafe-inline'%s%s%s\"/>\n<title>%s: gemel %s",
          page->script != NULL ? "; script-src '" : "", page->script != NULL ? page->script : "",
          page->script != NULL ? "'" : "", page->verdict, page->command);
  print_names(file, page, "", "");
  fprintf(
      file,
      "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header class=\"banner %s\">\n<h1>gemel %s",
      style, gemel__tone_class(page->tone), page->command);
  print_names(file, page, "<code>", "</code>");
  fprintf(file, "</h1>\n<p class=\"verdict\">%s</p>\n", page->verdict);
}

void gemel__page_counts(FILE *file, const gemel__page_count *counts, size_t n) {
  fputs("<p class=\"counts\">", file);
  for (size_t k = 0; k < n; k++) {
    if (counts[k].count > 0) {
      fprintf(file, "<b class=\"tag %s\">%zu %s</b> ", gemel__tone_class(counts[k].tone),
              counts[k].count, counts[k].what);
    }
  }
  fputs("</p>\n", file);
}

/* ---- Facts of the run ---- */

/* TEXT as one word of the shell. */
static void print_word(FILE *file, const char *text) {
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                              "_-./:=,+@%";
  if (*text != '\0' && text[strspn(text, plain)] == '\0') {
    fputs(text, file);
    return;
  }
  fputc('\'', file);
  for (; *text != '\0'; text++) {
    fputs(*text == '\'' ? "'\\''" : (char[]){*text, '\0'}, file);
  }
  fputc('\'', file);
}

/* What the shell was told, but for the folder of the program; to be freed, NULL without memory. */
static char *command_line(void) {
  char *text = NULL;
  size_t bytes;
  FILE *file = open_memstream(&text, &bytes);
  const char *flags = getenv("GEMEL_FLAGS");
  if (file == NULL) {
    return NULL;
  }
  if (flags != NULL && flags[0] != '\0') {
    fputs("GEMEL_FLAGS=", file);
    print_word(file, flags);
    fputc(' ', file);
  }
  fputs("gemel", file);
  for (char **argument = gemel__arguments + 1; *argument != NULL; argument++) {
    fputc(' ', file);
    print_word(file, *argument);
  }
  fclose(file);
  return text;
}

/* Now; or the moment that SOURCE_DATE_EPOCH, seconds since 1970, stands for, so that a report can
 * be made twice. */
static void print_date(FILE *file) {
  const char *fixed = getenv("SOURCE_DATE_EPOCH");
  char *end = NULL, text[40];
  long long seconds = fixed != NULL ? strtoll(fixed, &end, 10) : 0;
  time_t date = end != NULL && end != fixed && *end == '\0' ? (time_t)seconds : time(NULL);
  struct tm parts;
  if (gmtime_r(&date, &parts) == NULL ||
      strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
    return;
  }
  fprintf(file, "<dt>date</dt><dd><time datetime=\"%s\">%s</time></dd>\n", text, text);
}

void gemel__page_facts(FILE *file) {
  char *command = command_line();
  fputs("</header>\n<dl class=\"facts\">\n<dt>command</dt><dd>", file);
  gemel__page_text(file, "command", command);
  fputs("</dd>\n", file);
  free(command);
  print_date(file);
  gemel__page_fact(file, "version", "gemel %s", gemel_version());
}

void gemel__page_fact(FILE *file, const char *name, const char *format, ...) {
  va_list args;
  char *text = NULL;
  size_t bytes;
  FILE *memory = open_memstream(&text, &bytes);
  if (memory != NULL) {
    va_start(args, format);
    vfprintf(memory, format, args);
    va_end(args);
    fclose(memory);
  }
  fprintf(file, "<dt>%s</dt><dd>", name);
  gemel__escape(file, text);
  fputs("</dd>\n", file);
  free(text);
}

void gemel__page_facts_end(FILE *file) {
  fputs("</dl>\n", file);
}

/* ---- The rest ---- */

static size_t count_lines(const char *text) {
  size_t lines = 0;
  for (const char *at = text; *at != '\0'; lines++) {
    at += strcspn(at, "\n");
    at += *at == '\n';
  }
  return lines;
}

void gemel__page_text(FILE *file, const char *what, const char *text) {
  size_t lines = text != NULL ? count_lines(text) : 0;
  int is_long = lines > FOLD_LINES || (text != NULL && strlen(text) > FOLD_BYTES);
  if (is_long) {
    fprintf(file, "<details><summary>%s, %zu %s</summary>", what, lines > 1 ? lines : strlen(text),
            lines > 1 ? "lines" : "bytes");
  }
  fputs("<pre>", file);
  gemel__escape(file, text);
  fputs(is_long ? "</pre></details>\n" : "</pre>\n", file);
}

void gemel__page_tag(FILE *file, gemel__tone tone, const char *word) {
  fprintf(file, "<b class=\"tag %s\">%s</b>", gemel__tone_class(tone), word);
}

void gemel__page_table(FILE *file) {
  fputs("<div class=\"wide\"><table>\n", file);
}

void gemel__page_table_end(FILE *file) {
  fputs("</table></div>\n", file);
}

void gemel__page_end(FILE *file) {
  fputs("</body>\n</html>\n", file);
}
