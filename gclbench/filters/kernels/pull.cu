// The fused pull of the filter's solvers: gclbench/filters/kernels/pull.py says what it computes, cuda.py launches it.
//
// Work. An *item* is a row of the matrix, or a segment of a row with more than SPLIT entries (a hub); no item is longer
// than SPLIT. The host lists them longest class first (plan.py), so that hubs neither serialise the grid nor end it. A
// *group* of LANES threads does one item for one tile of LANES·PACK columns, PACK columns a thread: short rows leave few
// threads idle, and a sum stays in its thread, so nothing is exchanged but neighbour ids, which a group reads together,
// once, and hands round by shuffles. The groups of a warp take the same number of steps (their items are of one length
// class), so that every shuffle is of the whole warp, which costs one instruction where a part of it costs several. Tiles
// are the grid's slow dimension: what a tile gathers from (N × tile bytes; the hubs' rows above all) stays in L2 while the
// tile lasts. The sums of a hub's segments go to `partial`, and a second kernel, a block per hub, adds them in a fixed
// order. No atomics: results depend neither on scheduling nor on LANES and PACK (but for `residual`, whose squares are
// added within a tile first).
//
// Bytes. Per entry and tile: 4 for the id and LANES·PACK·STORAGE_BYTES gathered, 128 by default: a whole cache line. Per
// row and tile: 16 for the item, 4 for the degree, and a tile's width for each of base, out read and out written (and the
// source's own row when the residual is asked for). Ids, items, base and out pass through once per tile: they are loaded
// and stored as streaming, to leave L2 to the source.
//
// Occupancy. The chain item → id → gather is latency-bound, so a thread has FLIGHT gathers on their way before it uses the
// first, and the next ids besides: 16 bytes each from 24 to 32 warps a multiprocessor are 96 to 128 KB, where an H200
// (4.3 TB/s over 132 multiprocessors, some 700 ns) needs about 23 KB.
//
// Set by the host: STORAGE_BYTES 4 (float32) or 2 (bfloat16), PACK, LANES (8, 16 or 32), BLOCK threads.

typedef unsigned long long Offset;
typedef long long Count;

#define FLIGHT 8
#define GROUPS (BLOCK / LANES)
#define STRANDS 32
#define TILE (LANES * PACK)
// Blocks at a time on a multiprocessor of 65536 registers: 64 a thread at 4 blocks of 256, 80 at 3, which bfloat16 needs, and
// Blackwell for both.
#if STORAGE_BYTES == 2 || defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
#define RESIDENT 3
#else
#define RESIDENT 4
#endif
#define KERNEL extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT)
// The push holds its thresholds besides.
#define PUSH_KERNEL extern "C" __global__ void __launch_bounds__(BLOCK, RESIDENT - 1)

// PACK values of the storage type, moved as one word.
#if STORAGE_BYTES * PACK == 16
typedef uint4 Word;
#elif STORAGE_BYTES * PACK == 8
typedef uint2 Word;
#elif STORAGE_BYTES * PACK == 4
typedef unsigned int Word;
#else
typedef unsigned short Word;
#endif

struct Values {
    float at[PACK];
};

__device__ __forceinline__ Values zeros() {
    Values values;
#pragma unroll
    for (int p = 0; p < PACK; ++p) values.at[p] = 0.0f;
    return values;
}

__device__ __forceinline__ void split(const uint4& word, unsigned int* part) {
    part[0] = word.x, part[1] = word.y, part[2] = word.z, part[3] = word.w;
}
__device__ __forceinline__ void split(const uint2& word, unsigned int* part) { part[0] = word.x, part[1] = word.y; }
__device__ __forceinline__ void split(const unsigned int& word, unsigned int* part) { part[0] = word; }
__device__ __forceinline__ void split(const unsigned short& word, unsigned int* part) { part[0] = word; }

__device__ __forceinline__ void join(const unsigned int* part, uint4& word) {
    word.x = part[0], word.y = part[1], word.z = part[2], word.w = part[3];
}
__device__ __forceinline__ void join(const unsigned int* part, uint2& word) { word.x = part[0], word.y = part[1]; }
__device__ __forceinline__ void join(const unsigned int* part, unsigned int& word) { word = part[0]; }
__device__ __forceinline__ void join(const unsigned int* part, unsigned short& word) { word = (unsigned short)part[0]; }

// bfloat16 is the upper half of a float32; rounded to nearest, ties to even, NaN kept.
__device__ __forceinline__ unsigned int narrowed(float value) {
    const unsigned int bits = __float_as_uint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

__device__ __forceinline__ Values unpacked(const Word& word) {
    unsigned int part[4];
    split(word, part);
    Values values;
#pragma unroll
    for (int p = 0; p < PACK; ++p) {
#if STORAGE_BYTES == 4
        values.at[p] = __uint_as_float(part[p]);
#else
        values.at[p] = __uint_as_float(p % 2 ? part[p / 2] & 0xffff0000u : part[p / 2] << 16);
#endif
    }
    return values;
}

__device__ __forceinline__ Word packed(const Values& values) {
    unsigned int part[4] = {0, 0, 0, 0};
#pragma unroll
    for (int p = 0; p < PACK; ++p) {
#if STORAGE_BYTES == 4
        part[p] = __float_as_uint(values.at[p]);
#else
        part[p / 2] |= narrowed(values.at[p]) << (p % 2 * 16);
#endif
    }
    Word word;
    join(part, word);
    return word;
}

#define WARP 0xffffffffu

// The matrices' rows and columns, the bytes of a row, and the first tile of this launch.
struct Shape {
    Count nodes;
    unsigned int columns;
    unsigned int row_bytes;
    int first_tile;
};

// Where a thread stands: its lane within the group, its tile, its first column and whether that is one of the K.
struct Place {
    int lane;
    int tile;
    Offset column;
    bool inside;
    unsigned int row_bytes;

    __device__ __forceinline__ explicit Place(const Shape& shape) {
        lane = threadIdx.x % LANES;
        tile = shape.first_tile + (int)blockIdx.y;
        column = (Offset)tile * TILE + (Offset)(lane * PACK);
        inside = column < shape.columns;
        row_bytes = shape.row_bytes;
    }

    template <class T>
    __device__ __forceinline__ T* word(T* matrix, int row) const {
        return (T*)((char*)matrix + column * STORAGE_BYTES + (Offset)(unsigned int)row * row_bytes);
    }
};

__device__ __forceinline__ Word nothing() {
    const unsigned int part[4] = {0, 0, 0, 0};
    Word word;
    join(part, word);
    return word;
}

// Brings a row's own words to L2 while its neighbours are gathered, at no cost in registers.
__device__ __forceinline__ void fetch_ahead(const Word* word) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(word));
#endif
}

// Adds COUNT neighbours' words to `sum`, by halves. Every thread loads, present or not: a load under a predicate would be
// followed by moves that wait for it before the next one is issued. FULL: all are present; else those from `left` on count
// as zero.
template <int COUNT, bool FULL, bool ABOVE>
__device__ __forceinline__ void add(
    Values& sum, const char* origin, unsigned int row_bytes, int ids, int first, int left, const Values& threshold) {
    Word word[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
        const int neighbour = __shfl_sync(WARP, ids, first + j, LANES);
        word[j] = __ldg((const Word*)(origin + (Offset)(unsigned int)neighbour * row_bytes));
    }
    Values term[COUNT];
#pragma unroll
    for (int j = 0; j < COUNT; ++j) {
        term[j] = unpacked(word[j]);
#pragma unroll
        for (int p = 0; p < PACK; ++p) {
            const bool counts = (FULL || j < left) && (!ABOVE || term[j].at[p] > threshold.at[p]);
            term[j].at[p] = counts ? term[j].at[p] : 0.0f;
        }
    }
#pragma unroll
    for (int half = COUNT / 2; half; half /= 2) {
#pragma unroll
        for (int j = 0; j < half; ++j) {
#pragma unroll
            for (int p = 0; p < PACK; ++p) term[j].at[p] += term[j + half].at[p];
        }
    }
#pragma unroll
    for (int p = 0; p < PACK; ++p) sum.at[p] += term[0].at[p];
}

// Σ over an item's neighbours of the source row, or of its entries above the threshold: sums of FLIGHT, added in order.
template <bool ABOVE>
__device__ __forceinline__ Values gathered(
    const Place& place, const Word* source, const int* columns, int length, const Values& threshold) {
    Values sum = zeros();
    // Threads past the last column read the first; ids past the item's last repeat it; an item without any reads row 0.
    const char* const origin = place.inside ? (const char*)place.word(source, 0) : (const char*)source;
    const int last = length - 1;
    int longest = length, shortest = length;
#pragma unroll
    for (int distance = LANES; distance < 32; distance *= 2) {
        longest = max(longest, __shfl_xor_sync(WARP, longest, distance));
        shortest = min(shortest, __shfl_xor_sync(WARP, shortest, distance));
    }
    int ahead = length ? __ldcs(columns + min(place.lane, last)) : 0;
    for (int start = 0; start < longest; start += LANES) {
        const int ids = ahead;
        if (length && start + LANES < longest) ahead = __ldcs(columns + min(start + LANES + place.lane, last));
#pragma unroll 1
        for (int part = 0; part < LANES && start + part < longest; part += FLIGHT) {
            const int done = start + part;
            if (shortest - done >= FLIGHT)
                add<FLIGHT, true, ABOVE>(sum, origin, place.row_bytes, ids, part, FLIGHT, threshold);
            else if (longest - done > FLIGHT / 2)
                add<FLIGHT, false, ABOVE>(sum, origin, place.row_bytes, ids, part, length - done, threshold);
            else
                add<FLIGHT / 2, false, ABOVE>(sum, origin, place.row_bytes, ids, part, length - done, threshold);
        }
    }
    return sum;
}

// A group's item: the first of its entries, how many, and its row, or ~s for segment s of the hubs. Groups past the last
// item have none.
struct Item {
    Count begin;
    int row;
    int length;
    bool is_row;
    bool is_segment;

    __device__ __forceinline__ Item(const longlong2* items, Count items_total) {
        const Count index = (Count)blockIdx.x * GROUPS + threadIdx.x / LANES;
        const bool there = index < items_total;
        longlong2 stored = {0, 0};
        if (there) stored = __ldcs(items + index);
        begin = stored.x, row = (int)stored.y, length = (int)(stored.y >> 32);
        is_row = there && row >= 0, is_segment = there && row < 0;
    }
};

__device__ __forceinline__ void keep(
    const Place& place, float* partial, Offset segment, const Shape& shape, const Values& sum) {
#pragma unroll
    for (int p = 0; p < PACK; ++p) partial[segment * shape.columns + place.column + p] = sum.at[p];
}

// Adds the partial sums of one hub: every STRANDS-th by a group, then the strands in turn, whatever the number of groups. The
// first group holds the result.
__device__ __forceinline__ Values combined(
    const Place& place, const float* partial, const Count* hub, const Shape& shape) {
    __shared__ float shared[STRANDS * TILE];
    for (int strand = threadIdx.x / LANES; strand < STRANDS; strand += GROUPS) {
        Values sum = zeros();
        if (place.inside) {
#pragma unroll 4
            for (Count segment = hub[1] + strand; segment < hub[2]; segment += STRANDS) {
#pragma unroll
                for (int p = 0; p < PACK; ++p) sum.at[p] += partial[(Offset)segment * shape.columns + place.column + p];
            }
        }
#pragma unroll
        for (int p = 0; p < PACK; ++p) shared[strand * TILE + place.lane * PACK + p] = sum.at[p];
    }
    __syncthreads();
    Values sum = zeros();
    if (threadIdx.x < LANES) {
        for (int strand = 0; strand < STRANDS; ++strand) {
#pragma unroll
            for (int p = 0; p < PACK; ++p) sum.at[p] += shared[strand * TILE + place.lane * PACK + p];
        }
    }
    return sum;
}

// ---- sweep: out = ω (damping · sum / degree + base) + (1 − ω) · out, and the squares of (… + base) − source

// The whole warp calls it, for its shuffles; `mine` is a thread whose group has a row.
template <bool RELAXED, bool RESIDUAL>
__device__ __forceinline__ void settle(
    const Place& place, bool mine, int row, const Values& sum, float scale, const Word* source, const Word* base, Word* out,
    float* residual, const Shape& shape, float omega, float rest) {
    const bool here = mine && place.inside;
    const Values base_row = unpacked(here ? __ldcs(place.word(base, row)) : nothing());
    const Values own = unpacked(RESIDUAL && here ? __ldg(place.word(source, row)) : nothing());
    const Values previous = unpacked(RELAXED && here ? __ldcs((const Word*)place.word(out, row)) : nothing());
    Values result;
    float square = 0.0f;
#pragma unroll
    for (int p = 0; p < PACK; ++p) {
        const float value = scale * sum.at[p] + base_row.at[p];
        const float defect = value - own.at[p];
        if (RESIDUAL) square += defect * defect;
        result.at[p] = RELAXED ? omega * value + rest * previous.at[p] : value;
    }
    if (here) __stcs(place.word(out, row), packed(result));
    if (RESIDUAL) {
        if (!here) square = 0.0f;
#pragma unroll
        for (int distance = LANES / 2; distance; distance /= 2) square += __shfl_xor_sync(WARP, square, distance, LANES);
        if (mine && place.lane == 0) residual[(Count)place.tile * shape.nodes + row] = square;
    }
}

template <bool RELAXED, bool RESIDUAL>
__device__ __forceinline__ void swept_items(
    const longlong2* items, Count items_total, const int* columns, const float* inverse_degree, const Word* source,
    const Word* base, Word* out, float* partial, float* residual, const Shape& shape, float damping, float omega,
    float rest) {
    const Place place(shape);
    const Item item(items, items_total);
    const float scale = item.is_row ? damping * inverse_degree[item.row] : 0.0f;
    if (item.is_row && place.inside) {
        fetch_ahead(place.word(base, item.row));
        if (RELAXED) fetch_ahead(place.word(out, item.row));
        if (RESIDUAL) fetch_ahead(place.word(source, item.row));
    }
    const Values sum = gathered<false>(place, source, columns + item.begin, item.length, Values());
    if (item.is_segment && place.inside) keep(place, partial, (Offset)~item.row, shape, sum);
    settle<RELAXED, RESIDUAL>(
        place, item.is_row, item.row, sum, scale, source, base, out, residual, shape, omega, rest);
}

template <bool RELAXED, bool RESIDUAL>
__device__ __forceinline__ void swept_hubs(
    const Count* hubs, const float* inverse_degree, const Word* source, const Word* base, Word* out, const float* partial,
    float* residual, const Shape& shape, float damping, float omega, float rest) {
    const Place place(shape);
    const Count* hub = hubs + 3 * (Count)blockIdx.x;
    const int row = (int)hub[0];
    const Values sum = combined(place, partial, hub, shape);
    if (threadIdx.x >= 32) return;
    const float scale = damping * inverse_degree[row];
    settle<RELAXED, RESIDUAL>(
        place, threadIdx.x < LANES, row, sum, scale, source, base, out, residual, shape, omega, rest);
}

#define SWEEP(NAME, RELAXED, RESIDUAL)                                                                                    \
    KERNEL sweep##NAME(                                                                                                   \
        const longlong2* __restrict__ items, Count items_total, const int* __restrict__ columns,                          \
        const float* __restrict__ inverse_degree, const Word* __restrict__ source, const Word* __restrict__ base,         \
        Word* __restrict__ out, float* __restrict__ partial, float* __restrict__ residual, Shape shape, float damping,    \
        float omega, float rest) {                                                                                        \
        swept_items<RELAXED, RESIDUAL>(                                                                                   \
            items, items_total, columns, inverse_degree, source, base, out, partial, residual, shape, damping, omega,     \
            rest);                                                                                                        \
    }                                                                                                                     \
    KERNEL sweep##NAME##_hubs(                                                                                            \
        const Count* __restrict__ hubs, const float* __restrict__ inverse_degree, const Word* __restrict__ source,        \
        const Word* __restrict__ base, Word* __restrict__ out, const float* __restrict__ partial,                         \
        float* __restrict__ residual, Shape shape, float damping, float omega, float rest) {                              \
        swept_hubs<RELAXED, RESIDUAL>(                                                                                    \
            hubs, inverse_degree, source, base, out, partial, residual, shape, damping, omega, rest);                     \
    }

SWEEP(, false, false)
SWEEP(_residual, false, true)
SWEEP(_relaxed, true, false)
SWEEP(_relaxed_residual, true, true)

// ---- push: moved = residue above the threshold; reserve += α · moved; residue_out = residue − moved + damping · Σ moved / degree

__device__ __forceinline__ void pushed(
    const Place& place, bool mine, int row, const Values& sum, float scale, const Word* residue, const Values& threshold,
    Word* reserve, Word* residue_out, int* active, const Shape& shape, float alpha) {
    const bool here = mine && place.inside;
    const Values own = unpacked(here ? __ldg(place.word(residue, row)) : nothing());
    Values kept, moved;
    int above = 0;
#pragma unroll
    for (int p = 0; p < PACK; ++p) {
        const bool moves = here && own.at[p] > threshold.at[p];
        above += moves;
        moved.at[p] = moves ? own.at[p] : 0.0f;
        kept.at[p] = (moves ? 0.0f : own.at[p]) + scale * sum.at[p];
    }
    if (above) {
        Values settled = unpacked(__ldcs((const Word*)place.word(reserve, row)));
#pragma unroll
        for (int p = 0; p < PACK; ++p) settled.at[p] += alpha * moved.at[p];
        __stcs(place.word(reserve, row), packed(settled));
    }
    if (here) __stcs(place.word(residue_out, row), packed(kept));
#pragma unroll
    for (int distance = LANES / 2; distance; distance /= 2) above += __shfl_xor_sync(WARP, above, distance, LANES);
    if (mine && place.lane == 0) active[(Count)place.tile * shape.nodes + row] = above;
}

__device__ __forceinline__ Values thresholds(const Place& place, const float* threshold) {
    Values values;
#pragma unroll
    for (int p = 0; p < PACK; ++p) values.at[p] = place.inside ? threshold[place.column + p] : 0.0f;
    return values;
}

PUSH_KERNEL push(
    const longlong2* __restrict__ items, Count items_total, const int* __restrict__ columns,
    const float* __restrict__ inverse_degree, const Word* __restrict__ residue, const float* __restrict__ threshold,
    Word* __restrict__ reserve, Word* __restrict__ residue_out, float* __restrict__ partial, int* __restrict__ active,
    Shape shape, float damping, float alpha) {
    const Place place(shape);
    const Item item(items, items_total);
    const Values limit = thresholds(place, threshold);
    const float scale = item.is_row ? damping * inverse_degree[item.row] : 0.0f;
    if (item.is_row && place.inside) fetch_ahead(place.word(residue, item.row));
    const Values sum = gathered<true>(place, residue, columns + item.begin, item.length, limit);
    if (item.is_segment && place.inside) keep(place, partial, (Offset)~item.row, shape, sum);
    pushed(place, item.is_row, item.row, sum, scale, residue, limit, reserve, residue_out, active, shape, alpha);
}

PUSH_KERNEL push_hubs(
    const Count* __restrict__ hubs, const float* __restrict__ inverse_degree, const Word* __restrict__ residue,
    const float* __restrict__ threshold, Word* __restrict__ reserve, Word* __restrict__ residue_out,
    const float* __restrict__ partial, int* __restrict__ active, Shape shape, float damping, float alpha) {
    const Place place(shape);
    const Count* hub = hubs + 3 * (Count)blockIdx.x;
    const int row = (int)hub[0];
    const Values sum = combined(place, partial, hub, shape);
    if (threadIdx.x >= 32) return;
    const float scale = damping * inverse_degree[row];
    pushed(
        place, threadIdx.x < LANES, row, sum, scale, residue, thresholds(place, threshold), reserve, residue_out, active,
        shape, alpha);
}
