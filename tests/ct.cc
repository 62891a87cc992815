/*
 * The only C++ of the tests: the bridge from the C tables of ct.h to GoogleTest. Every test is one
 * object of the same fixture class, whose body calls the C function with its data. A test that
 * asserts nothing fails, and so does one after which blocks of gemel's are left. What is allocated,
 * and what is freed, is filled with a pattern: memory that nothing wrote never holds the right
 * answer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ct.h"

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <ftw.h>
#include <malloc.h>
#include <string>
#include <unistd.h>
#include <unordered_map>

#include <gemel/alloc.h>
#include <gtest/gtest.h>

namespace {

std::string context;
std::atomic<unsigned long long> asserted;

/* Counts the blocks that are alive. */
std::atomic<long> alive;
bool shares;

void *counted_allocate(void *, size_t bytes) {
  void *block = std::malloc(bytes);
  alive += block != nullptr;
  return block;
}

void *counted_reallocate(void *, void *old, size_t, size_t bytes) {
  void *block = std::realloc(old, bytes);
  alive += old == nullptr && block != nullptr;
  return block;
}

void counted_release(void *, void *block, size_t) {
  alive -= block != nullptr;
  std::free(block);
}

void count_blocks() {
  gemel_allocator hooks = {sizeof hooks, counted_allocate, counted_reallocate, counted_release,
                           nullptr};
  gemel_set_allocator(&hooks);
}

/* What is alive beyond BEFORE; 0 after a test that had an allocator of its own. */
long blocks_left(long before) {
  if (gemel_get_allocator().allocate != counted_allocate) {
    alive = before;
    count_blocks();
  }
  return alive - before;
}

void fail_for_blocks() {
  long left = blocks_left(0);
  if (left > 0) {
    std::printf("FAIL: at the end blocks are left: %ld\n", left);
    std::fflush(stdout);
    _exit(1);
  }
}

class Fixture : public testing::Test {
public:
  explicit Fixture(const ct_test &test) : test_(test) {
  }

private:
  void TestBody() override {
    context.clear();
    asserted = 0;
    long before = alive;
    test_.run(test_.data);
    context.clear();
    long left = blocks_left(before);
    if (left > 0 && !shares)
      ADD_FAILURE_AT(test_.file, test_.line) << "  blocks leaked: " << left;
    if (asserted == 0 && !IsSkipped())
      ADD_FAILURE_AT(test_.file, test_.line) << "  this test asserted nothing";
  }

  ct_test test_;
};

std::string format_text(const char *format, va_list arguments) {
  char text[2000];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

int report(bool ok, const char *file, int line, const std::string &text) {
  asserted++;
  if (!ok) {
    ADD_FAILURE_AT(file, line) << text << (context.empty() ? "" : "\n  with ") << context;
  }
  return ok;
}

std::string quoted(const char *text) {
  return text ? '"' + std::string(text) + '"' : "NULL";
}

template <class T>
std::string two_sides(const char *sa, const T &a, const char *sb, const T &b,
                      const char *relation) {
  testing::Message text;
  text << "  " << sa << "\n    is " << a << ", should be " << relation << "\n  " << sb
       << "\n    = " << b;
  return text.GetString();
}

} // namespace

void ct_shares(void) {
  shares = true;
}

void ct_add(const char *suite, const ct_test *test) {
  ct_test copy = *test;
  if (!std::strncmp(test->name, "DISABLED_", 9))
    std::abort(); /* GoogleTest would leave it out */
  testing::RegisterTest(suite, test->name, nullptr, nullptr, test->file, test->line,
                        [copy]() -> Fixture * { return new Fixture(copy); });
}

void ct_add_to(const char *suite, const char *prefix, const ct_test *test) {
  std::string name = std::string(prefix) + '/' + test->name;
  ct_test longer = *test;
  longer.name = name.c_str();
  ct_add(suite, &longer);
}

void ct_suite(const char *suite, const ct_test *tests, size_t count) {
  for (size_t i = 0; i < count; i++)
    ct_add(suite, &tests[i]);
}

void ct_context(const char *format, ...) {
  context.clear();
  if (!format)
    return;
  va_list arguments;
  va_start(arguments, format);
  context = format_text(format, arguments);
  va_end(arguments);
}

unsigned long long ct_number(const char *variable, unsigned long long usual) {
  const char *text = std::getenv(variable);
  if (!text)
    return usual;
  char *end;
  unsigned long long number = std::strtoull(text, &end, 10);
  if (number == 0 || number > 1000000000 || *end != '\0' || *text < '0' || *text > '9') {
    std::fprintf(stderr, "%s: '%s' is no number from 1 to 1000000000\n", variable, text);
    std::exit(2);
  }
  return number;
}

unsigned long long ct_seeds(const char *variable, unsigned long long usual) {
  bool one =
      std::getenv("GEMEL_QUICK") || std::getenv("GEMEL_VALGRIND") || std::getenv("GEMEL_SANITIZED");
  return ct_number(variable, one ? 1 : usual);
}

void ct_property(const char *key, long long value) {
  testing::Test::RecordProperty(key, std::to_string(value));
}

int ct_check(int ok, const char *text, const char *file, int line) {
  return report(ok, file, line, std::string("  not so: ") + text);
}

void ct_fail(const char *file, int line, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  report(false, file, line, "  " + format_text(format, arguments));
  va_end(arguments);
}

void ct_skip(const char *reason, const char *file, int line) {
  GTEST_MESSAGE_AT_(file, line, reason, testing::TestPartResult::kSkip);
}

int ct_eq_int(long long a, long long b, const char *sa, const char *sb, const char *file,
              int line) {
  return report(a == b, file, line, two_sides(sa, a, sb, b, "equal to"));
}

int ct_eq_uint(unsigned long long a, unsigned long long b, const char *sa, const char *sb,
               const char *file, int line) {
  return report(a == b, file, line, two_sides(sa, a, sb, b, "equal to"));
}

int ct_eq_str(const char *a, const char *b, const char *sa, const char *sb, const char *file,
              int line) {
  bool equal = a && b ? std::strcmp(a, b) == 0 : a == b;
  return report(equal, file, line, two_sides(sa, quoted(a), sb, quoted(b), "equal to"));
}

int ct_eq_mem(const void *a, const void *b, size_t size, const char *sa, const char *sb,
              const char *file, int line) {
  const unsigned char *x = static_cast<const unsigned char *>(a);
  const unsigned char *y = static_cast<const unsigned char *>(b);
  size_t i = 0;
  while (i < size && x[i] == y[i])
    i++;
  testing::Message text;
  if (i < size)
    text << "  " << sa << " and " << sb << " differ first at byte " << i << " of " << size << ": "
         << int(x[i]) << " against " << int(y[i]);
  return report(i == size, file, line, text.GetString());
}

int ct_has_str(const char *text, const char *part, const char *st, const char *file, int line) {
  bool found = text && part && *part && std::strstr(text, part); /* "" is in any text */
  return report(found, file, line,
                std::string("  ") + st + "\n    is " + quoted(text) + ", should hold\n    " +
                    quoted(part));
}

int ct_le_double(double a, double b, const char *sa, const char *sb, const char *file, int line) {
  char x[40], y[40];
  std::snprintf(x, sizeof x, "%.17g", a);
  std::snprintf(y, sizeof y, "%.17g", b);
  return report(a <= b, file, line, two_sides<std::string>(sa, x, sb, y, "at most"));
}

namespace {

/* An allocator that knows every block and refuses on command. */
struct Memory {
  std::mutex mutex;
  std::unordered_map<void *, size_t> blocks;
  size_t count = 0;          /* allocations so far */
  size_t refused = SIZE_MAX; /* number of the allocation to refuse */
  bool refuse_rest = false;
  bool did_refuse = false;
  std::string complaint;

  bool refuses() {
    size_t number = count++;
    bool refuse = number == refused || (refuse_rest && number > refused);
    did_refuse |= refuse;
    return refuse;
  }

  void forget(void *block, size_t bytes) {
    auto found = blocks.find(block);
    if (found == blocks.end()) {
      complaint = "a block was released that this run had not allocated";
    } else {
      if (found->second != bytes)
        complaint = "a block of " + std::to_string(found->second) + " bytes was released as " +
                    std::to_string(bytes);
      blocks.erase(found);
    }
  }
};

void *memory_allocate(void *user, size_t bytes) {
  Memory *memory = static_cast<Memory *>(user);
  std::lock_guard<std::mutex> lock(memory->mutex);
  if (memory->refuses())
    return nullptr;
  void *block = std::malloc(bytes);
  memory->blocks[block] = bytes;
  return block;
}

void memory_release(void *user, void *block, size_t bytes) {
  Memory *memory = static_cast<Memory *>(user);
  std::lock_guard<std::mutex> lock(memory->mutex);
  memory->forget(block, bytes);
  std::free(block);
}

/* Always moves, so that a pointer kept to the old place is found by Valgrind. */
void *memory_reallocate(void *user, void *old, size_t old_bytes, size_t bytes) {
  Memory *memory = static_cast<Memory *>(user);
  std::lock_guard<std::mutex> lock(memory->mutex);
  if (memory->refuses())
    return nullptr;
  void *block = std::malloc(bytes);
  if (old) {
    std::memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
    memory->forget(old, old_bytes);
    std::free(old);
  }
  memory->blocks[block] = bytes;
  return block;
}

/* One run with allocation k refused; says whether to go on with k + 1. */
bool oom_run(ct_oom_fn *fn, void *data, size_t k, bool rest, const char *file, int line) {
  Memory memory;
  memory.refused = k;
  memory.refuse_rest = rest;
  gemel_allocator hooks = {sizeof hooks, memory_allocate, memory_reallocate, memory_release,
                           &memory};
  gemel_set_allocator(&hooks);
  context = "allocation " + std::to_string(k) + (rest ? " and all after it" : "") + " refused";
  int status = fn(data);
  count_blocks();
  int wanted = memory.did_refuse ? GEMEL_NO_MEMORY : GEMEL_OK;
  bool good = report(status == wanted, file, line,
                     std::string("  the status is ") + gemel_status_text(gemel_status(status)) +
                         ", should be " + gemel_status_text(gemel_status(wanted)));
  good &= report(memory.complaint.empty(), file, line, "  " + memory.complaint);
  good &= report(memory.blocks.empty(), file, line,
                 "  blocks leaked: " + std::to_string(memory.blocks.size()));
  return good && memory.did_refuse;
}

/* GEMEL_JUNIT names a folder for reports. GoogleTest would add a number to the name of a report
   that is there already; with a file's name it replaces it. */
void choose_report(const char *program) {
  const char *folder = std::getenv("GEMEL_JUNIT");
  if (!folder || !*folder)
    return;
  const char *slash = std::strrchr(program, '/');
  GTEST_FLAG_SET(output,
                 std::string("xml:") + folder + '/' + (slash ? slash + 1 : program) + ".xml");
}

} // namespace

namespace {

std::string scratch;

int remove_entry(const char *path, const struct stat *, int, struct FTW *) {
  return std::remove(path);
}

void remove_scratch() {
  if (!scratch.empty())
    nftw(scratch.c_str(), remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

} // namespace

const char *ct_scratch(void) {
  if (scratch.empty()) {
    const char *root = std::getenv("TMPDIR");
    scratch = std::string(root && *root ? root : "/tmp") + "/gemel-test-XXXXXX";
    if (!mkdtemp(&scratch[0]))
      ADD_FAILURE() << "no folder " << scratch;
  }
  return scratch.c_str();
}

size_t ct_oom_at(ct_oom_fn *fn, void *data, const char *file, int line) {
  size_t tried = 0;
  for (int rest = 0; rest < 2; rest++)
    for (size_t k = 0; oom_run(fn, data, k, rest != 0, file, line); k++)
      tried++;
  context.clear();
  return tried;
}

int main(int argc, char **argv) {
  mallopt(M_PERTURB, 0x5a);
  count_blocks();
  std::atexit(fail_for_blocks);
  choose_report(argv[0]);
  testing::InitGoogleTest(&argc, argv);
  ct_register();
  int failed = RUN_ALL_TESTS();
  remove_scratch();
  return failed;
}
