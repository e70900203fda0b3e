/* Stands in for one v4l2loopback device, so that pyvirtualcam's own native backend can be tested without the
 * kernel module: preload it and the device named by SHIM_DEVICE takes a format and pictures, which land in the
 * file SHIM_OUTPUT. SHIM_FAIL=format refuses the format. It proves the program, not the module. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

static int device_fd = -1;
static struct v4l2_format format;

static int is_device(const char *path) {
    const char *device = getenv("SHIM_DEVICE");
    return device && path && !strcmp(path, device);
}

static int open_as(const char *name, const char *path, int flags, mode_t mode) {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    if (!is_device(path)) return real(path, flags, mode);
    device_fd = real(getenv("SHIM_OUTPUT"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return device_fd;
}

#define OPEN(name)                                             \
    int name(const char *path, int flags, ...) {               \
        va_list rest;                                          \
        va_start(rest, flags);                                 \
        mode_t mode = va_arg(rest, int);                       \
        va_end(rest);                                          \
        return open_as(#name, path, flags, mode);              \
    }
OPEN(open)
OPEN(open64)

int access(const char *path, int mode) {
    int (*real)(const char *, int) = dlsym(RTLD_NEXT, "access");
    return is_device(path) ? 0 : real(path, mode);
}

int stat(const char *path, struct stat *out) {
    int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "stat");
    if (!is_device(path)) return real(path, out);
    memset(out, 0, sizeof *out);
    out->st_mode = S_IFCHR | 0666;
    return 0;
}

static int set_format(struct v4l2_format *wanted) {
    const char *fail = getenv("SHIM_FAIL");
    if (wanted->fmt.pix.width % 2 || (fail && !strcmp(fail, "format"))) {
        errno = EINVAL;
        return -1;
    }
    format = *wanted;
    fprintf(stderr, "shim: %ux%u %.4s colorspace %u\n", wanted->fmt.pix.width, wanted->fmt.pix.height,
            (const char *)&wanted->fmt.pix.pixelformat, wanted->fmt.pix.colorspace);
    return 0;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
    if (fd < 0 || fd != device_fd) return real(fd, request, argument);
    switch (request) {
    case VIDIOC_QUERYCAP: {
        struct v4l2_capability *capability = argument;
        memset(capability, 0, sizeof *capability);
        strcpy((char *)capability->driver, "v4l2 loopback");
        strcpy((char *)capability->card, "LiveFusion");
        capability->device_caps = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_READWRITE | V4L2_CAP_STREAMING;
        capability->capabilities = capability->device_caps | V4L2_CAP_DEVICE_CAPS;
        return 0;
    }
    case VIDIOC_G_FMT:
        *(struct v4l2_format *)argument = format;
        ((struct v4l2_format *)argument)->type = V4L2_BUF_TYPE_VIDEO_OUTPUT;
        return 0;
    case VIDIOC_S_FMT:
        return set_format(argument);
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM:
        return 0;
    }
    errno = ENOTTY;
    return -1;
}
