// Runs CUDA kernels of pull.cu on the host, so that the very source that a GPU would run is executed where there is none. Every thread of
// a block is a fiber; they run one at a time and switch where CUDA synchronises: __syncthreads and the shuffles. What would be undefined
// on a GPU (a shuffle that a named lane never joins, a misaligned access, a deadlock) ends the launch with an error.

#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct alignas(16) uint4 { unsigned int x, y, z, w; };
struct alignas(8) uint2 { unsigned int x, y; };
struct alignas(16) longlong2 { long long x, y; };
static struct { unsigned int x, y; } threadIdx, blockIdx;

namespace emulator {
struct Fiber {
    ucontext_t context;
    std::vector<char> stack = std::vector<char>(1 << 16);
    unsigned int thread = 0;
    long shuffles = 0, barriers = 0;
    bool done = false;
    uint32_t posted[2] = {0, 0};
};
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static Fiber* now;
static bool progressed;
static std::string failure;
static void (*body)(void**);
static void** body_arguments;

static void fail(const char* text) {
    if (failure.empty()) failure = text;
    for (;;) swapcontext(&now->context, &scheduler);
}
template <class Ready>
static void wait(Ready ready) {
    while (!ready()) swapcontext(&now->context, &scheduler);
    progressed = true;
}
// Values go through two buffers in turn: a lane posts its next but one only after all have read this one.
static uint32_t exchange(unsigned int mask, uint32_t value, unsigned int lane) {
    const unsigned int warp = now->thread / 32 * 32;
    if (!(mask >> now->thread % 32 & 1)) fail("a shuffle by a lane that its mask leaves out");
    const long turn = ++now->shuffles;
    now->posted[turn % 2] = value;
    wait([&] {
        for (unsigned int other = 0; other < 32; ++other) {
            if (!(mask >> other & 1)) continue;
            if (warp + other >= fibers.size()) fail("a shuffle with lanes beyond the block");
            const Fiber& fiber = fibers[warp + other];
            if (fiber.shuffles < turn && fiber.done) fail("a shuffle with a lane that has left");
            if (fiber.shuffles < turn) return false;
        }
        return true;
    });
    return fibers[warp + lane].posted[turn % 2];
}
// Where loads and stores may go, when anything is said.
static std::vector<std::pair<const char*, const char*>> allowed;
template <class T>
static void accessed(const T* address) {
    if (reinterpret_cast<uintptr_t>(address) % alignof(T)) fail("a misaligned access");
    const char* begin = reinterpret_cast<const char*>(address);
    bool inside = allowed.empty();
    for (const auto& range : allowed) inside |= begin >= range.first && begin + sizeof(T) <= range.second;
    if (!inside) fail("an access outside the tensors");
}
static void begin() {
    body(body_arguments);
    now->done = progressed = true;
    for (;;) swapcontext(&now->context, &scheduler);
}
template <class... A, size_t... I>
static void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<A>*>(arguments[I])...);
}
template <auto KERNEL>
struct Entry;
template <class... A, void (*KERNEL)(A...)>
struct Entry<KERNEL> {
    static void run(void** arguments) { call(KERNEL, arguments, std::index_sequence_for<A...>()); }
};
}  // namespace emulator

template <class T>
static T __shfl_sync(unsigned int mask, T value, int lane, int width = 32) {
    static_assert(sizeof(T) == 4);
    uint32_t bits;
    memcpy(&bits, &value, 4);
    const unsigned int own = emulator::now->thread % 32;
    bits = emulator::exchange(mask, bits, own / width * width + lane % width);
    memcpy(&value, &bits, 4);
    return value;
}
template <class T>
static T __shfl_xor_sync(unsigned int mask, T value, int distance, int width = 32) {
    return __shfl_sync(mask, value, int(emulator::now->thread % width) ^ distance, width);
}
static void __syncthreads() {
    const long turn = ++emulator::now->barriers;
    emulator::wait([&] {
        for (const auto& fiber : emulator::fibers)
            if (!fiber.done && fiber.barriers < turn) return false;
        return true;
    });
}
template <class T> static T __ldg(const T* address) { return emulator::accessed(address), *address; }
template <class T> static T __ldcs(const T* address) { return emulator::accessed(address), *address; }
template <class T> static void __stcs(T* address, T value) { emulator::accessed(address), *address = value; }
static float __uint_as_float(unsigned int bits) { float value; return memcpy(&value, &bits, 4), value; }
static unsigned int __float_as_uint(float value) { unsigned int bits; return memcpy(&bits, &value, 4), bits; }
static int max(int a, int b) { return a > b ? a : b; }
static int min(int a, int b) { return a < b ? a : b; }

#include KERNEL_SOURCE

#define KERNELS(X)                                                                                                            \
    X(sweep) X(sweep_hubs) X(sweep_residual) X(sweep_residual_hubs) X(sweep_relaxed) X(sweep_relaxed_hubs)                     \
    X(sweep_relaxed_residual) X(sweep_relaxed_residual_hubs) X(push) X(push_hubs)
#define ENTRY(NAME) {#NAME, &emulator::Entry<&NAME>::run},
static const std::map<std::string, void (*)(void**)> kernels = {KERNELS(ENTRY)};

extern "C" void allow(int count, const char** begins, const char** ends) {
    emulator::allowed.clear();
    for (int index = 0; index < count; ++index) emulator::allowed.emplace_back(begins[index], ends[index]);
}

// Blocks run in reverse and the threads of a block in rotated order: nothing may depend on either.
extern "C" const char* emulate(const char* name, unsigned int grid_x, unsigned int grid_y, unsigned int block, void** arguments) {
    using namespace emulator;
    failure.clear();
    body = kernels.at(name), body_arguments = arguments;
    fibers.resize(block);
    for (long long index = (long long)grid_x * grid_y - 1; index >= 0 && failure.empty(); --index) {
        blockIdx.x = index % grid_x, blockIdx.y = index / grid_x;
        for (unsigned int thread = 0; thread < block; ++thread) {
            Fiber& fiber = fibers[thread];
            fiber.thread = thread, fiber.shuffles = fiber.barriers = 0, fiber.done = false;
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.data(), fiber.context.uc_stack.ss_size = fiber.stack.size();
            makecontext(&fiber.context, begin, 0);
        }
        for (bool running = true; running && failure.empty();) {
            running = progressed = false;
            for (unsigned int step = 0; step < block && failure.empty(); ++step) {
                now = &fibers[(step + index) % block];
                if (now->done) continue;
                running = true, threadIdx.x = now->thread;
                swapcontext(&scheduler, &now->context);
            }
            if (running && !progressed && failure.empty()) failure = "deadlock: every thread waits";
        }
    }
    return failure.c_str();
}
