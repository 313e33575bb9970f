# Headers of other libraries, compiled once a build folder: reading them took two thirds of the compiler's time. Sources
# still include what they use; the preset gcc compiles without. CMake's own precompiled headers lie at absolute paths, by
# which the compiler cache would tell each checkout's sources from the other's.

# tw_precompiled(<name> [OPTIONS <option>...] [LIBRARIES <library>...]): cmake/precompiled/<name>.cc as a precompiled
# header. Code generation options must be those of the targets that use it.
function(tw_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "OPTIONS;LIBRARIES")
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang" OR NOT CMAKE_GENERATOR STREQUAL "Ninja")
    return()
  endif()
  set(target "precompiled_${name}")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${CMAKE_SOURCE_DIR}/cmake/precompiled/${name}.cc")
  target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS} -x c++-header -fpch-instantiate-templates
    "SHELL:-Xclang -fno-pch-timestamp" -Wno-pragma-once-outside-header)
  set_target_properties(${target} PROPERTIES
    CXX_COMPILER_LAUNCHER "${CMAKE_SOURCE_DIR}/cmake/precompile;precompiled/${name}.pch")
  # Objects of other targets wait for custom targets, and not for object libraries.
  add_custom_target(${target}_header DEPENDS $<TARGET_OBJECTS:${target}>)
endfunction()

# tw_use_precompiled(<name> <target> [<source>...]): compiles these sources of the target, or all, with the header. Ninja
# reads from the compiler which files the header was made of.
function(tw_use_precompiled name target)
  if(NOT TARGET precompiled_${name})
    return()
  endif()
  add_dependencies(${target} precompiled_${name}_header)
  if(ARGN)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -include-pch precompiled/${name}.pch)
  else()
    target_compile_options(${target} PRIVATE "SHELL:-include-pch precompiled/${name}.pch")
  endif()
endfunction()
