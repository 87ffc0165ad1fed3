# Fails when an object of a kernel variant defines a weak symbol: the linker may keep that copy,
# compiled for a wider instruction set, for the whole program.
# Usage: cmake -DNM=nm -DOBJECTS=a.o,b.o -P check_weak_symbols.cmake

string(REPLACE "," ";" objects "${OBJECTS}")
if(NOT objects)
  message(FATAL_ERROR "no object files given")
endif()
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} -C --defined-only ${object}
    OUTPUT_VARIABLE symbols RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${NM} cannot read ${object}")
  endif()
  string(REGEX MATCHALL "[0-9a-f]+ [uVvWw] [^\n]*" weak "${symbols}")
  if(weak)
    message(SEND_ERROR "weak symbols in ${object}: ${weak}")
  endif()
endforeach()
