# An emulated MI300X for tests (see tests/gfx942/README.md). To be included by the top Makefile, which defines BUILD and
# CC. CFLAGS are not used: the interpreter is built for speed whatever the rest of the project is built for.
#
#   make gfx942               everything that programs need to run on it, in $(BUILD)/gfx942
#   make build/gfx942/NAME    a copy of build/NAME that runs on it
#   make gfx942-tests         the tests of the emulation itself: build/gfx942/test_*
#   make gfx942-traffic       bench/traffic.py: what kernels move, against the least possible; TRAFFIC="OPTIONS"

GFX942_SOURCE := tests/gfx942
GFX942 := $(BUILD)/gfx942
GFX942_ROOT := $(GFX942)/root
GFX942_LIBRARIES := $(GFX942_ROOT)/usr/lib/x86_64-linux-gnu
GFX942_STAMP := $(GFX942)/root.stamp
GFX942_THUNK := $(GFX942)/libhsakmt.so.1
GFX942_QUIET := $(if $(V),,@)

GFX942_SOURCES := $(filter-out $(GFX942_SOURCE)/test_%,$(wildcard $(GFX942_SOURCE)/*.c))
GFX942_OBJECTS := $(GFX942_SOURCES:$(GFX942_SOURCE)/%.c=$(GFX942)/objects/%.o)
GFX942_INTERPRETER_OBJECTS := $(filter-out $(GFX942)/objects/thunk%,$(GFX942_OBJECTS))
GFX942_TEST_OBJECTS := $(patsubst $(GFX942_SOURCE)/%.c,$(GFX942)/objects/%.o,$(wildcard $(GFX942_SOURCE)/test_*.c))
GFX942_TESTS := $(GFX942)/test_interpreter $(GFX942)/test_emulated_mi300x

GFX942_CFLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra $(if $(WERROR),-Werror) -O2 -g -fPIC -fvisibility=hidden \
	-ffp-contract=off -pthread -MMD -MP -I$(GFX942_SOURCE) -isystem $(GFX942_ROOT)/usr/include

.PHONY: gfx942 gfx942-tests gfx942-traffic
gfx942: $(GFX942_STAMP) $(GFX942_THUNK)

gfx942-tests: gfx942 $(GFX942_TESTS)

$(GFX942_STAMP): $(GFX942_SOURCE)/setup.sh
	@echo "  FETCH $(GFX942_ROOT)"
	$(GFX942_QUIET)$(GFX942_SOURCE)/setup.sh $(GFX942)
	$(GFX942_QUIET)touch $@

$(GFX942)/objects/%.o: $(GFX942_SOURCE)/%.c $(GFX942_SOURCE)/gfx942.mk | $(GFX942_STAMP)
	@echo "  CC    $<"; mkdir -p $(@D)
	$(GFX942_QUIET)$(CC) $(GFX942_CFLAGS) -c $< -o $@

$(GFX942_THUNK): $(GFX942_OBJECTS) $(GFX942_SOURCE)/thunk.map
	@echo "  LINK  $@"
	$(GFX942_QUIET)$(CC) -shared -pthread -Wl,-soname,libhsakmt.so.1 -Wl,-z,defs \
		-Wl,--version-script=$(GFX942_SOURCE)/thunk.map $(GFX942_OBJECTS) -o $@ -lm -ldl

# A program built on this machine, copied and made to run under the unpacked loader and libraries. Set in the file
# itself, so that the program may run itself again through /proc/self/exe, and that programs such as /bin/sh that it
# starts run as ever. A library that is not among the unpacked ones comes from this machine.
define GFX942_COPY
@echo "  PATCH $@"; mkdir -p $(@D)
$(GFX942_QUIET)cp $< $@.new
$(GFX942_QUIET)patchelf --set-interpreter $(abspath $(GFX942_LIBRARIES))/ld-linux-x86-64.so.2 --force-rpath \
	--set-rpath $(abspath $(GFX942)):$(abspath $(GFX942_LIBRARIES)) $@.new
$(GFX942_QUIET)mv $@.new $@
endef

$(GFX942)/%: $(BUILD)/% $(GFX942_SOURCE)/gfx942.mk | gfx942
	$(GFX942_COPY)

gfx942-traffic: $(GFX942)/gathertune
	@python3 bench/traffic.py --gathertune $< $(TRAFFIC)

# The tests of the emulation.

$(GFX942)/host/test_interpreter: $(GFX942_TEST_OBJECTS) $(GFX942_INTERPRETER_OBJECTS)
	@mkdir -p $(@D)
	$(GFX942_QUIET)$(CC) -pthread $^ -o $@ -lcmocka -lm -ldl

$(GFX942)/host/test_emulated_mi300x: $(GFX942)/objects/samples/test_emulated_mi300x.o
	@mkdir -p $(@D)
	$(GFX942_QUIET)$(CC) -pthread $^ -o $@ -lcmocka -lm -ldl

$(GFX942)/objects/samples/test_emulated_mi300x.o: $(GFX942_SOURCE)/samples/kernels.hip

$(GFX942_TESTS): $(GFX942)/%: $(GFX942)/host/% $(GFX942_SOURCE)/gfx942.mk | gfx942
	$(GFX942_COPY)

-include $(GFX942_OBJECTS:.o=.d) $(GFX942_TEST_OBJECTS:.o=.d) $(GFX942)/objects/samples/test_emulated_mi300x.d
