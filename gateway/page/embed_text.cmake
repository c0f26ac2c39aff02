# cmake -DFROM=text -DTO=file.inc -P embed_text.cmake: the bytes of a file as a list of character codes.
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," codes "${bytes}")
file(WRITE ${TO} "${codes}\n")
