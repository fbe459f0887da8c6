# gathertune: `make demo` and `make check` do everything, from a bare Debian 12 machine on. See README.md.
#
#   make            builds build/gathertune with the back ends whose headers are present
#   make check      installs what is missing, builds, runs all tests
#   make demo       installs what is missing, builds, tunes a few problems and shows the result
#   make install    program, library, header, pkg-config file and manual pages, to DESTDIR/PREFIX (default /usr/local);
#                   LIBDIR, INCLUDEDIR, MANDIR override places below PREFIX
#   make fuzz       runs the fuzz harnesses of tests/fuzz with clang's libFuzzer: MINUTES=60 shared out among them, HARNESS=name for one
#   make format     clang-format over the C sources
#   V=1 shows commands; SANITIZE=address,undefined builds with sanitizers (in a folder of its own); WERROR=1 as CI does

CC ?= cc
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR ?= $(PREFIX)/share/man
OBJCOPY ?= objcopy
CUDA_HOME ?= /usr/local/cuda
SANITIZE ?=
BUILD ?= $(if $(SANITIZE),build-sanitize,build)
Q := $(if $(V),,@)

PKG_CONFIG ?= pkg-config
PACKAGES := lua5.4 sqlite3 jansson libxxhash libuv zlib
MISSING := $(strip $(foreach p,$(PACKAGES),$(shell $(PKG_CONFIG) --exists $(p) 2>/dev/null || echo $(p))))

# A back end is built where its headers are found.
HASH := \#
has_header = $(shell printf '$(foreach h,$(1),$(HASH)include <$(h)>\n)' | $(CC) $(2) -E - >/dev/null 2>&1 && echo 1)
HIP_FLAGS := -D__HIP_PLATFORM_AMD__ $(if $(wildcard /opt/rocm/include),-I/opt/rocm/include)
CUDA_FLAGS := $(if $(wildcard $(CUDA_HOME)/include),-isystem $(CUDA_HOME)/include)
HAVE_HIP ?= $(call has_header,hip/hip_runtime_api.h hip/hiprtc.h,$(HIP_FLAGS))
HAVE_CUDA ?= $(call has_header,cuda.h nvrtc.h,$(CUDA_FLAGS))
HAVE_OPENCL ?= $(call has_header,CL/cl.h)

CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -I. -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
  $(if $(WERROR),-Werror) -ffp-contract=off -fvisibility=hidden -fPIC \
  $(if $(HAVE_HIP),-DGT_HAVE_HIP $(HIP_FLAGS)) $(if $(HAVE_CUDA),-DGT_HAVE_CUDA $(CUDA_FLAGS)) $(if $(HAVE_OPENCL),-DGT_HAVE_OPENCL) \
  $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined) \
  $(if $(MISSING),,$(shell $(PKG_CONFIG) --cflags $(PACKAGES))) $(CFLAGS)
LIBS := $(if $(MISSING),,$(shell $(PKG_CONFIG) --libs $(PACKAGES))) -ldl -lm -lpthread

LIBRARY_SOURCES := $(sort $(wildcard base/*.c generator/*.c device/*.c cache/*.c tuner/*.c runtime/*.c exchange/*.c))
CLI_SOURCES := $(sort $(wildcard cli/*.c))
UNIT_SOURCES := $(sort $(wildcard tests/unit/test_*.c tests/contract/test_*.c))
TEMPLATES := $(sort $(wildcard templates/*.lua templates/*.kernel templates/*.h templates/lib/*.lua templates/lib/*.kernel))

object = $(patsubst %.c,$(BUILD)/%.o,$(1))
LIBRARY_OBJECTS := $(call object,$(LIBRARY_SOURCES)) $(BUILD)/embedded_templates.o $(BUILD)/embedded_schema.o
UNIT_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(UNIT_SOURCES))
FUZZ_PROGRAMS := $(patsubst %.c,$(BUILD)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))

VERSION := $(shell sed -n 's/.*GT_VERSION "\(.*\)".*/\1/p' base/version.h)
SONAME := libgathertune.so.$(firstword $(subst ., ,$(VERSION)))
SHARED := $(BUILD)/libgathertune.so.$(VERSION)

.PHONY: all check demo install clean format setup tests require-packages
all: $(BUILD)/gathertune $(SHARED) $(BUILD)/libgathertune.a

require-packages:
	@$(if $(MISSING),echo "make: missing libraries: $(MISSING); run tools/setup.sh (Debian 12) or install their development packages" >&2; exit 1,:)

$(LIBRARY_OBJECTS) $(call object,$(CLI_SOURCES)): | require-packages

$(BUILD)/gathertune: $(call object,$(CLI_SOURCES)) $(BUILD)/libgathertune-internal.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/libgathertune-internal.a: $(LIBRARY_OBJECTS)
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcs $@ $^

# The library for programs is what the functions of include/gathertune.h need of all this, and exports these alone.
RUNTIME_OBJECTS := $(call object,$(sort $(wildcard runtime/*.c)))

$(SHARED): $(BUILD)/libgathertune-internal.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--as-needed $(if $(SANITIZE),,-Wl,-z,defs) -o $@ \
	  $(RUNTIME_OBJECTS) $< $(LIBS)
	$(Q)ln -sf $(notdir $@) $(BUILD)/$(SONAME) && ln -sf $(SONAME) $(BUILD)/libgathertune.so

# One object, whose other names are made local: they cannot meet those of a program.
$(BUILD)/libgathertune.a: $(BUILD)/libgathertune-internal.a
	@echo "  AR    $@"
	$(Q)$(LD) -r -o $(BUILD)/libgathertune.o $(RUNTIME_OBJECTS) $<
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/libgathertune.o
	$(Q)rm -f $@ && ar rcs $@ $(BUILD)/libgathertune.o

# The objects depend on the flags: another set of back ends or flags builds anew.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D); echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' > $@
.PHONY: FORCE

$(BUILD)/%.o: %.c $(BUILD)/flags
	@echo "  CC    $<"; mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/embedded_%.o: $(BUILD)/embedded_%.c $(BUILD)/flags
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(BUILD)/embed: tools/embed.c
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I. -o $@ $<

# The manifest is part of the prerequisites' names, so that a template that disappears is noticed too.
$(BUILD)/templates.manifest: FORCE
	@mkdir -p $(@D); echo '$(TEMPLATES)' | cmp -s - $@ || echo '$(TEMPLATES)' > $@

$(BUILD)/embedded_templates.c: $(BUILD)/embed $(TEMPLATES) $(BUILD)/templates.manifest
	@echo "  EMBED templates"
	$(Q)$(BUILD)/embed $@ $(TEMPLATES)

$(BUILD)/embedded_schema.c: cache/schema.sql
	@echo "  EMBED $<"; mkdir -p $(@D)
	$(Q)(echo 'extern const char gt_schema_sql[];'; echo 'const char gt_schema_sql[] ='; \
	  sed 's/\\/\\\\/g; s/"/\\"/g; s/^/  "/; s/$$/\\n"/' $<; echo ';') > $@

EXAMPLES := $(if $(HAVE_HIP),$(patsubst docs/%.c,$(BUILD)/%,$(wildcard docs/examples/*.c)))

# Tests: every tests/unit/test_*.c and tests/contract/test_*.c is a program of its own.
tests: $(UNIT_PROGRAMS) $(FUZZ_PROGRAMS) all $(EXAMPLES)

$(UNIT_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libgathertune-internal.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

# Fuzz harnesses: every tests/fuzz/fuzz_*.c is one, a program that feeds it its corpus or, by `make fuzz`, one that makes up inputs.
FUZZ_SHARED := $(call object,tests/fuzz/fuzz.c tests/fuzz/database.c $(filter-out cli/main.c,$(CLI_SOURCES)))
FUZZ_DRIVER ?= $(call object,tests/fuzz/replay.c)

$(FUZZ_PROGRAMS): $(BUILD)/%: $(BUILD)/%.o $(FUZZ_SHARED) $(filter %.o,$(FUZZ_DRIVER)) $(BUILD)/libgathertune-internal.a
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(filter-out %.o,$(FUZZ_DRIVER)) -o $@ $^ $(LIBS)

MINUTES ?= 60
fuzz:
	@command -v clang >/dev/null || { echo "make: fuzzing needs clang with its run-time libraries (Debian: apt-get install clang)" >&2; exit 1; }
	@+$(MAKE) --no-print-directory BUILD=build-fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined FUZZ_DRIVER=-fsanitize=fuzzer fuzz-programs
	@BUILD=build-fuzz MINUTES=$(MINUTES) HARNESS=$(HARNESS) tests/fuzz/run.sh

fuzz-programs: $(FUZZ_PROGRAMS)
.PHONY: fuzz fuzz-programs

# Benchmarks, run by hand: make build/bench/lookup build/bench/launches
$(BUILD)/bench/lookup: $(call object,$(wildcard bench/bare_*.c))
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libgathertune-internal.a | $(BUILD)/gathertune
	@echo "  LINK  $@"
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

# The programs that the documents show.
$(EXAMPLES): $(BUILD)/%: docs/%.c include/gathertune.h $(BUILD)/libgathertune.a
	@echo "  CC    $<"; mkdir -p $(@D)
	$(Q)$(CC) -Wall -Wextra $(if $(WERROR),-Werror) -Wno-unused-result -Iinclude $(HIP_FLAGS) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) \
	  $(CFLAGS) -o $@ $< $(BUILD)/libgathertune.a -lamdhip64 $(LIBS)

include $(wildcard tests/gfx942/gfx942.mk)

# A second make, because the first one may have had to install what the flags are asked from.
setup:
	@tools/setup.sh

check: setup
	@+$(MAKE) --no-print-directory check-built

# On the emulated MI300X: its own tests, the contract tests and the program. Its runtime and the sanitizers' do not go together.
EMULATED := $(patsubst $(BUILD)/%,$(BUILD)/gfx942/%,$(filter $(BUILD)/tests/contract/% $(BUILD)/tests/unit/test_order $(BUILD)/tests/unit/test_runtime_hip,$(UNIT_PROGRAMS)) $(BUILD)/gathertune $(EXAMPLES))

check-built: tests $(if $(SANITIZE),,gfx942-tests $(EMULATED))
	@BUILD=$(BUILD) SANITIZE=$(SANITIZE) tests/run.sh

demo: setup
	@+$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) tools/demo.sh

# Quoted: places may have spaces in their names.
install: all
	install -D -m 755 $(BUILD)/gathertune "$(DESTDIR)$(PREFIX)/bin/gathertune"
	install -D -m 644 include/gathertune.h "$(DESTDIR)$(INCLUDEDIR)/gathertune.h"
	install -D -m 755 $(SHARED) "$(DESTDIR)$(LIBDIR)/$(notdir $(SHARED))"
	install -D -m 644 $(BUILD)/libgathertune.a "$(DESTDIR)$(LIBDIR)/libgathertune.a"
	ln -sf $(notdir $(SHARED)) "$(DESTDIR)$(LIBDIR)/$(SONAME)"
	ln -sf $(SONAME) "$(DESTDIR)$(LIBDIR)/libgathertune.so"
	install -d "$(DESTDIR)$(LIBDIR)/pkgconfig"
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	  runtime/gathertune.pc.in > "$(DESTDIR)$(LIBDIR)/pkgconfig/gathertune.pc"
	install -D -m 644 docs/man/gathertune.1 "$(DESTDIR)$(MANDIR)/man1/gathertune.1"
	install -D -m 644 docs/man/gathertune.3 "$(DESTDIR)$(MANDIR)/man3/gathertune.3"

format:
	clang-format -i $(shell git ls-files '*.c' '*.h' ':!templates' 2>/dev/null)

clean:
	rm -rf build build-sanitize build-fuzz

.PHONY: check-built gfx942-tests
-include $(patsubst %.o,%.d,$(call object,$(LIBRARY_SOURCES) $(CLI_SOURCES) $(UNIT_SOURCES) $(wildcard bench/*.c tests/fuzz/*.c)))
