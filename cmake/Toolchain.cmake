# Language level, warnings, optimization, sanitizers; ccache and mold where they are installed.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN")

# Line tables only: stack traces name lines, and objects stay small. NDEBUG silences third-party asserts; our own
# invariants (TW_CHECK) are checked in every build.
if(TW_SANITIZE STREQUAL "thread")
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O0 -g1 -DNDEBUG")  # few tests run, and most of their time is the compile
elseif(TW_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g1 -DNDEBUG")
else()
  set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1 -DNDEBUG")
endif()
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")

# Designated initialisers leave fields out on purpose.
# libstdc++ 12 marks a helper of its own std::stable_sort as deprecated, which clang 19 reports at
# every use; overloads of `on` in visitors hide each other on purpose.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Wno-deprecated-declarations
                    -Wno-overloaded-virtual)
# Two oracles compare results bit by bit, so the host compiler must not contract what the source spells out.
add_compile_options(-ffp-contract=off -fdiagnostics-color=auto)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Unique symbols would be shared with other libraries in the process, whatever their visibility.
  add_compile_options(-fno-gnu-unique -fno-semantic-interposition)
endif()

if(TW_SANITIZE)
  add_compile_options(-fsanitize=${TW_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TW_SANITIZE})
  if(TW_PYTHON)
    # The interpreter knows nothing of sanitizers: their library is loaded before it (tests/run.py), and so is one for all.
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
                    OUTPUT_VARIABLE library OUTPUT_STRIP_TRAILING_WHITESPACE)
    cmake_path(GET library PARENT_PATH libraries)
    add_link_options(-shared-libsan "-Wl,-rpath,${libraries}")
  endif()
  if(TW_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # It reads a type in front of each function that is called by pointer; compiled kernels have none.
      add_compile_options(-fno-sanitize=function)
      # They double the time of a compile, and what they find crashes or is found by the address sanitizer; alignment, which
      # only vectors of aligned moves need here, takes a tenth.
      add_compile_options(-fno-sanitize=null,object-size,pointer-overflow,vptr,alignment)
    endif()
  endif()
endif()

add_link_options(-Wl,--as-needed)
find_program(TW_MOLD mold)
if(TW_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# ccache sees paths relative to the build folder, so that the wheel and other checkouts reuse what was compiled once.
# The same relative prefix is cut from __FILE__, which leaves "ir/node.cc" in error messages.
find_program(TW_CCACHE ccache)
if(TW_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER /usr/bin/env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
    CCACHE_PCH_EXTSUM=1 CCACHE_SLOPPINESS=pch_defines,time_macros "${TW_CCACHE}")
  file(RELATIVE_PATH prefix "${CMAKE_BINARY_DIR}" "${CMAKE_SOURCE_DIR}/")
  add_compile_options("-fmacro-prefix-map=${prefix}=")
else()
  add_compile_options("-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")
endif()
