// Generators on template directories that a test writes itself.
#ifndef GT_TESTS_TEMPLATE_FIXTURE_H
#define GT_TESTS_TEMPLATE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buffer.h"
#include "generator/generator.h"

#define SMALL_PROBLEM "upsample_bilinear2d_backward:n=2,c=3,in=4x4,out=8x8,dtype=f32"

// The script of a family `t` with one parameter; `fields` are statements that change its table, p0.
#define FAMILY(fields)                                                             \
  "local p0 = {\n"                                                                 \
  "  role = 'candidate', description = 'for a test',\n"                            \
  "  claims = function() return true end,\n"                                       \
  "  parameters = function() return {{name = 'v', values = {1, 2}}} end,\n"        \
  "  default = function() return {v = 1} end,\n"                                   \
  "  launches = function() return {{kernel = 'k', block = 64, blocks = 1}} end,\n" \
  "}\n" fields "\nreturn p0\n"

typedef struct {
  char directory[64];
  char *files[16]; // paths, to be removed
  int n_files;
} template_fixture;

static inline void fixture_start(template_fixture *fixture) {
  *fixture = (template_fixture){.directory = "/tmp/gathertune-test-XXXXXX"};
  assert_non_null(mkdtemp(fixture->directory));
  char *library = gt_print("%s/lib", fixture->directory);
  assert_int_equal(mkdir(library, 0700), 0);
  free(library);
}

static inline void fixture_write(template_fixture *fixture, const char *name, const char *text,
                                 size_t length) {
  char *path = gt_print("%s/%s", fixture->directory, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(text, 1, length, file), length);
  assert_int_equal(fclose(file), 0);
  fixture->files[fixture->n_files++] = path;
}

static inline void fixture_end(template_fixture *fixture) {
  for (int i = 0; i < fixture->n_files; i++) {
    unlink(fixture->files[i]);
    free(fixture->files[i]);
  }
  char *library = gt_print("%s/lib", fixture->directory);
  rmdir(library);
  rmdir(fixture->directory);
  free(library);
}

// Opens a generator on a family `t` of these texts, a library lib/helper.lua (NULL: none) and what is in the
// fixture already, which was started.
static inline gt_status fixture_open_more(template_fixture *fixture, const char *script, const char *kernel,
                                          const char *helper, gt_generator **generator, gt_error *error) {
  fixture_write(fixture, "t.lua", script, strlen(script));
  fixture_write(fixture, "t.kernel", kernel, strlen(kernel));
  fixture_write(fixture, "target_hip.h", "", 0);
  fixture_write(fixture, "common.h", "", 0);
  if (helper) fixture_write(fixture, "lib/helper.lua", helper, strlen(helper));
  gt_status status = gt_generator_open(fixture->directory, generator, error);
  fixture_end(fixture); // the generator has read everything
  return status;
}

static inline gt_status fixture_open(template_fixture *fixture, const char *script, const char *kernel,
                                     const char *helper, gt_generator **generator, gt_error *error) {
  fixture_start(fixture);
  return fixture_open_more(fixture, script, kernel, helper, generator, error);
}

static inline gt_problem problem_of(const char *text) {
  gt_problem problem;
  gt_error error;
  if (gt_problem_parse(text, &problem, &error) != GT_OK) fail_msg("%s: %s", text, error.text);
  return problem;
}

static inline gt_fingerprint some_device(void) {
  return (gt_fingerprint){.backend = "hip",
                          .arch = "gfx942",
                          .compute_units = 304,
                          .target = GT_TARGET_HIP,
                          .wave_size = 64,
                          .max_threads_per_block = 1024,
                          .lds_bytes_per_block = 65536,
                          .last_level_cache_bytes = 256 << 20};
}

// What the template alone writes: the source after the comments and the two defines. The caller frees it.
// `parts`: names and texts of files in lib/, up to a NULL.
static inline gt_status render_parts(const char *script, const char *kernel, const char *helper,
                                     const char *const *parts, const char *problem_text, char **text,
                                     gt_error *error) {
  template_fixture fixture;
  gt_generator *generator;
  gt_variant variant = {0};
  gt_problem problem = problem_of(problem_text);
  gt_fingerprint device = some_device();
  *text = NULL;
  fixture_start(&fixture);
  for (; *parts; parts += 2) {
    char *name = gt_print("lib/%s", parts[0]);
    fixture_write(&fixture, name, parts[1], strlen(parts[1]));
    free(name);
  }
  gt_status status = fixture_open_more(&fixture, script, kernel, helper, &generator, error);
  if (status != GT_OK) return status;
  status = gt_render(generator, "t:v=2", &problem, &device, &variant, error);
  if (status == GT_OK) {
    const char *last_define = strstr(variant.source, "#define GT_TARGET_HIP 1\n");
    assert_non_null(last_define);
    *text = gt_strdup(strchr(last_define, '\n') + 1);
  }
  gt_variant_free(&variant);
  gt_generator_close(generator);
  return status;
}

static inline gt_status render_texts(const char *script, const char *kernel, const char *helper,
                                     const char *problem, char **text, gt_error *error) {
  return render_parts(script, kernel, helper, (const char *const[]){NULL}, problem, text, error);
}

static inline void assert_renders_with(const char *script, const char *kernel, const char *helper,
                                       const char *problem, const char *expected) {
  gt_error error = {0};
  char *text;
  if (render_texts(script, kernel, helper, problem, &text, &error) != GT_OK) fail_msg("%s", error.text);
  assert_string_equal(text, expected);
  free(text);
}

static inline void assert_renders(const char *kernel, const char *expected) {
  assert_renders_with(FAMILY(""), kernel, NULL, SMALL_PROBLEM, expected);
}

static inline void assert_fails_with(const char *script, const char *kernel, const char *helper,
                                     const char *message) {
  gt_error error = {0};
  char *text;
  gt_status status = render_texts(script, kernel, helper, SMALL_PROBLEM, &text, &error);
  if (status == GT_OK) fail_msg("rendered, instead of: %s", message);
  assert_string_equal(error.text, message);
  assert_int_equal(status, GT_TEMPLATE);
  assert_int_equal(error.status, GT_TEMPLATE);
}

static inline void assert_fails(const char *kernel, const char *message) {
  assert_fails_with(FAMILY(""), kernel, NULL, message);
}

#endif
