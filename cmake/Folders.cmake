# A source folder is a library; its files are found, not listed, so that adding one touches no CMake file.

# tw_glob(<variable> <pattern>...): the files below the root that match, searched again at each build.
function(tw_glob variable)
  list(TRANSFORM ARGN PREPEND "${CMAKE_SOURCE_DIR}/")
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${ARGN})
  set(${variable} "${files}" PARENT_SCOPE)
endfunction()

# tw_joined(<variable> <name> <source>...): what to compile instead of these sources, several of them as one where TW_JOIN
# is on (join_sources.py says which). A source with definitions of its own stays as it is.
find_program(TW_INTERPRETER python3 REQUIRED)
function(tw_joined variable name)
  set(alone "")
  set(others "")
  foreach(source IN LISTS ARGN)
    get_property(own SOURCE "${source}" PROPERTY COMPILE_DEFINITIONS)
    if(own OR NOT TW_JOIN)
      list(APPEND alone "${source}")
    else()
      list(APPEND others "${source}")
    endif()
  endforeach()
  set(joined "")
  if(others)
    # An edit may bring a name that another source has.
    set_property(DIRECTORY "${CMAKE_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${others})
    execute_process(
      COMMAND "${TW_INTERPRETER}" "${CMAKE_SOURCE_DIR}/cmake/join_sources.py" "${CMAKE_SOURCE_DIR}"
              "${CMAKE_BINARY_DIR}/joined" "${name}" ${others}
      OUTPUT_VARIABLE joined COMMAND_ERROR_IS_FATAL ANY)
    string(STRIP "${joined}" joined)
    string(REPLACE "\n" ";" joined "${joined}")
  endif()
  set(${variable} ${alone} ${joined} PARENT_SCOPE)
endfunction()

add_custom_target(headers)

# tw_folder_library(<folder> [SHARED] [EXCLUDE <regex>]): target tilewright_<folder>. A folder without sources is an
# interface library, so that the others can link it all the same.
function(tw_folder_library folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED" "EXCLUDE" "")
  set(target "tilewright_${folder}")
  tw_glob(sources "${folder}/*.cc")
  tw_glob(headers "${folder}/*.h")
  if(arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${arg_EXCLUDE}")
    list(FILTER headers EXCLUDE REGEX "${arg_EXCLUDE}")
  endif()

  if(NOT sources)
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  else()
    set(scope PUBLIC)
    # Sources that include LLVM have a precompiled header of their own.
    set(llvm_sources "")
    foreach(source IN LISTS sources)
      file(STRINGS "${source}" includes REGEX "#include [<\"](llvm|lower/llvm/emit)[/.-]" LIMIT_COUNT 1)
      if(includes)
        list(APPEND llvm_sources "${source}")
      endif()
    endforeach()
    list(REMOVE_ITEM sources ${llvm_sources})
    tw_joined(sources "${folder}" ${sources})
    tw_joined(llvm_sources "${folder}_llvm" ${llvm_sources})
    if(arg_SHARED)
      add_library(${target} SHARED ${sources} ${llvm_sources})
      tw_package_binary(${target})
    else()
      add_library(${target} STATIC ${sources} ${llvm_sources})
    endif()
    string(TOUPPER "TW_BUILDING_${folder}" building)
    target_compile_definitions(${target} PRIVATE ${building})
    tw_use_precompiled(std ${target} ${sources})
    if(llvm_sources)
      tw_use_precompiled(llvm ${target} ${llvm_sources})
    endif()
  endif()
  target_include_directories(${target} ${scope} "${CMAKE_SOURCE_DIR}")

  # Each header must compile alone (target headers), behind what is precompiled of the standard library, of which a test
  # sees to it that headers include what they name (tests/structure). Those that wrap a private dependency (LLVM, XGBoost,
  # SQLite) are compiled by the sources that include them.
  set(checks "")
  foreach(header IN LISTS headers)
    file(STRINGS "${header}" private REGEX "#include [<\"](llvm|xgboost|sqlite3|lower/llvm/emit)[/.-]" LIMIT_COUNT 1)
    if(NOT private)
      file(RELATIVE_PATH path "${CMAKE_SOURCE_DIR}" "${header}")
      set(check "${CMAKE_BINARY_DIR}/headers/${path}.cc")
      file(CONFIGURE OUTPUT "${check}" CONTENT "#include \"${path}\"\n")
      list(APPEND checks "${check}")
    endif()
  endforeach()
  if(checks)
    add_library(headers_${folder} OBJECT EXCLUDE_FROM_ALL ${checks})
    target_link_libraries(headers_${folder} PRIVATE ${target})
    tw_use_precompiled(std headers_${folder})
    add_dependencies(headers headers_${folder})
  endif()
endfunction()

# tw_link(<folder> PUBLIC ... [PRIVATE ...]): as target_link_libraries, for folders with and without sources.
function(tw_link folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE")
  set(target "tilewright_${folder}")
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(${target} INTERFACE ${arg_PUBLIC})
  else()
    target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  endif()
endfunction()

# tw_package_binary(<target>): put it into the Python package, in the build tree and in the wheel. The target `package` is
# all of them.
add_custom_target(package)
function(tw_package_binary target)
  add_dependencies(package ${target})
  set_target_properties(${target} PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${TW_PACKAGE_DIR}"
    RUNTIME_OUTPUT_DIRECTORY "${TW_PACKAGE_DIR}"
    BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${target}
    LIBRARY DESTINATION tilewright COMPONENT python
    RUNTIME DESTINATION tilewright COMPONENT python)
endfunction()
