# Third-party libraries; docs/dependencies.md says why each is here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)

# LLVM, the shared library and its headers. The CMake package of LLVM imports some three hundred targets for the same two paths.
find_program(TW_LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
execute_process(COMMAND "${TW_LLVM_CONFIG}" --includedir OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE)
execute_process(COMMAND "${TW_LLVM_CONFIG}" --libdir OUTPUT_VARIABLE llvm_libdir OUTPUT_STRIP_TRAILING_WHITESPACE)
find_library(TW_LLVM_LIBRARY NAMES LLVM-19 HINTS "${llvm_libdir}" REQUIRED)
add_library(tilewright_llvm INTERFACE)
target_include_directories(tilewright_llvm SYSTEM INTERFACE "${llvm_include}")
target_link_libraries(tilewright_llvm INTERFACE "${TW_LLVM_LIBRARY}")

find_path(TW_XGBOOST_INCLUDE xgboost/c_api.h REQUIRED)
find_library(TW_XGBOOST_LIBRARY xgboost REQUIRED)
add_library(tilewright_xgboost INTERFACE)
target_include_directories(tilewright_xgboost SYSTEM INTERFACE "${TW_XGBOOST_INCLUDE}")
target_link_libraries(tilewright_xgboost INTERFACE "${TW_XGBOOST_LIBRARY}")

# The reader of ONNX's wire format: protobuf without descriptors or generated code. Debian's archive is not position
# independent, so this is the shared library, of which nothing registers itself globally.
find_path(TW_PROTOBUF_INCLUDE google/protobuf/io/coded_stream.h REQUIRED)
find_library(TW_PROTOBUF_LITE protobuf-lite REQUIRED)
add_library(tilewright_protobuf INTERFACE)
target_include_directories(tilewright_protobuf SYSTEM INTERFACE "${TW_PROTOBUF_INCLUDE}")
target_link_libraries(tilewright_protobuf INTERFACE "${TW_PROTOBUF_LITE}")

# Compilers allocate a great deal: our programs (not what Python loads) do it through jemalloc where it is installed,
# which shortens a compile by a sixteenth. Sanitizers bring an allocator of their own.
add_library(tilewright_malloc INTERFACE)
find_library(TW_JEMALLOC jemalloc)
if(TW_JEMALLOC AND NOT TW_SANITIZE)
  target_link_libraries(tilewright_malloc INTERFACE "${TW_JEMALLOC}")
endif()

# Peers of the benchmark, and code generators of networks; both optional.
find_library(TW_OPENBLAS openblas)
find_path(TW_OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-pthread openblas)
find_library(TW_ONEDNN dnnl)
