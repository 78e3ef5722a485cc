/*
 * What a libstdc++ that was built for glibc asks of it and musl does not have, so that an executable for musl runs on a
 * Debian with musl's package. It stands in for glibc's own loader, which that libstdc++ names. For trying out alone.
 */
#include <stddef.h>

/* musl's own; its headers are not here. */
extern long getrandom(void *, size_t, unsigned);
extern unsigned long getauxval(unsigned long);
extern size_t strftime_l(char *, size_t, const char *, const void *, void *);

char __libc_single_threaded = 0;

struct {
  unsigned vendor, type, subtype, features;
} __cpu_model;

int __cpu_indicator_init(void) { return 0; }

unsigned long __getauxval(unsigned long type) { return getauxval(type); }

/* Not found: the unwinder goes by dl_iterate_phdr, which musl has. */
int _dl_find_object(void *at, void *result) {
  (void)at;
  (void)result;
  return -1;
}

/* The process ends, and destructors of threads with it. */
int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *handle) {
  (void)destroy;
  (void)object;
  (void)handle;
  return 0;
}

unsigned arc4random(void) {
  unsigned number = 0;
  (void)!getrandom(&number, sizeof number, 0);
  return number;
}

size_t __strftime_l(char *to, size_t size, const char *format, const void *time, void *locale) {
  return strftime_l(to, size, format, time, locale);
}
