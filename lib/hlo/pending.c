#include "hlo/call.h"
#define NOT_YET(name)                                                                              \
  int name(gemel__hlo_call *c, gemel__hlo_value *r) {                                              \
    (void)r;                                                                                       \
    return gemel__hlo_refuse(c, GEMEL_UNSUPPORTED, "not yet");                                     \
  }
NOT_YET(gemel__hlo_convolution)
NOT_YET(gemel__hlo_dot)
NOT_YET(gemel__hlo_gather)
NOT_YET(gemel__hlo_scatter)
NOT_YET(gemel__hlo_reduce_window)
NOT_YET(gemel__hlo_select_and_scatter)
