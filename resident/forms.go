package resident

import (
	"fmt"
	"strings"
)

// form is a way to load and store what the CPU shares with a running kernel.
type form struct {
	name  string // as reports show it
	only  string // the driver whose language has it; "" is MSL
	mail  string // the type of the mailbox
	load  string // of the word at i
	store string // of v there
	after string // behind both
}

const (
	plainMail  = "device uint*"
	atomicMail = "device atomic_uint*"
	plainLoad  = "m[i]"
	plainStore = "m[i] = v"
	rmwLoad    = "atomic_fetch_add_explicit(m + i, 0u, memory_order_relaxed)"
	atomicPut  = "atomic_store_explicit(m + i, v, memory_order_relaxed)"
	fence      = "threadgroup_barrier(mem_flags::mem_device)"
	ptxAtomic  = "load_ptx(m + i)//atom.relaxed.sys.global.add.u32 %0, [%1], 0"
	system     = "atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst, thread_scope_system)"
)

// forms are all that the languages offer: nine of MSL that are there everywhere, MSL 3.2's system scope, and CUDA's loads.
var forms = []form{
	{name: "plain", mail: plainMail, load: plainLoad, store: plainStore},
	{name: "volatile", mail: "volatile device uint*", load: plainLoad, store: plainStore},
	{name: "coherent(device)", mail: "device coherent(device) uint*", load: plainLoad, store: plainStore},
	{name: "volatile coherent(device)", mail: "volatile device coherent(device) uint*", load: plainLoad, store: plainStore},
	{name: "volatile coherent(device) + mem_device barrier", mail: "volatile device coherent(device) uint*", load: plainLoad, store: plainStore, after: fence},
	{name: "atomic load, relaxed", mail: atomicMail, load: "atomic_load_explicit(m + i, memory_order_relaxed)", store: atomicPut},
	{name: "atomic fetch-add of 0", mail: atomicMail, load: rmwLoad, store: atomicPut},
	{name: "atomic fetch-add of 0 + mem_device barrier", mail: atomicMail, load: rmwLoad, store: atomicPut, after: fence},
	{name: "coherent(device) fetch-add of 0", mail: "device coherent(device) atomic_uint*", load: rmwLoad, store: atomicPut},
	{name: "coherent(system) + system seq_cst fence", mail: "volatile device coherent(system) uint*", load: plainLoad, store: plainStore, after: system},

	{name: "ld.volatile", only: "cuda", mail: plainMail, load: ptx("ld.volatile.global"), store: ptxStore("st.volatile.global")},
	{name: "ld.relaxed.sys", only: "cuda", mail: plainMail, load: ptx("ld.relaxed.sys.global"), store: ptxStore("st.relaxed.sys.global")},
	{name: "ld.relaxed.gpu", only: "cuda", mail: plainMail, load: ptx("ld.relaxed.gpu.global"), store: ptxStore("st.relaxed.gpu.global")},
	{name: "ld.acquire.sys", only: "cuda", mail: plainMail, load: ptx("ld.acquire.sys.global"), store: ptxStore("st.release.sys.global")},
	{name: "ld (plain)", only: "cuda", mail: plainMail, load: ptx("ld.global"), store: ptxStore("st.global")},
	{name: "ld.ca", only: "cuda", mail: plainMail, load: ptx("ld.global.ca"), store: ptxStore("st.global.wb")},
	{name: "ld.cg", only: "cuda", mail: plainMail, load: ptx("ld.global.cg"), store: ptxStore("st.global.cg")},
	{name: "ld.nc", only: "cuda", mail: plainMail, load: ptx("ld.global.nc"), store: ptxStore("st.global.wb")},
	{name: "atomicAdd of 0", only: "cuda", mail: plainMail, load: "atomicAdd(m + i, 0u)", store: plainStore},
	{name: "atomicAdd_system of 0", only: "cuda", mail: plainMail, load: ptxAtomic, store: ptxStore("st.relaxed.sys.global")},
}

// ptx loads with one instruction of PTX, which the compiler neither moves nor leaves out.
func ptx(instruction string) string { return "load_ptx(m + i)//" + instruction + ".u32 %0, [%1]" }

// ptxStore stores likewise.
func ptxStore(instruction string) string { return "store_ptx(m + i, v)//" + instruction }

// probeText is the kernel of a form; spaced says that doorbell and heartbeat are on lines of their own.
func (f *form) text() string {
	load, ld, _ := strings.Cut(f.load, "//")
	store, st, _ := strings.Cut(f.store, "//")
	var b strings.Builder
	b.WriteString("#include <metal_stdlib>\nusing namespace metal;\n")
	if ld != "" {
		fmt.Fprintf(&b, `#ifdef __CUDACC__
static inline uint load_ptx(device uint* p) {
    uint v;
    asm volatile("%s;" : "=r"(v) : "l"(p) : "memory");
    return v;
}
static inline void store_ptx(device uint* p, uint v) { asm volatile("%s.u32 [%%0], %%1;" : : "l"(p), "r"(v) : "memory"); }
#else
#error "PTX is NVIDIA's"
#endif
`, ld, st)
	}
	after := ""
	if f.after != "" {
		after = f.after + ";"
	}
	b.WriteString(strings.NewReplacer("MAIL", f.mail, "LOAD", load, "STORE", store, "AFTER", after).Replace(probeText))
	return b.String()
}

// probeText is the probe's kernel, one threadgroup: the first thread looks at the doorbell, tells of a new value by the echo,
// and stores a heartbeat; the log of what it saw is for the end, when every store is seen. Both numbers of looks are bounds.
const probeText = `
struct ProbeParams {
    uint looks;     // at most
    uint last;      // the doorbell's value that ends the kernel
    uint heartbeat; // words between doorbell and heartbeat
    uint room;      // for values in the log
    uint sweep;     // words read at each look, to evict what is cached
};

static inline uint look(MAIL m, uint i) { return LOAD; }
static inline void put(MAIL m, uint i, uint v) { STORE; }

kernel void probe(MAIL mail [[buffer(0)]], device uint* log [[buffer(1)]], device uint* memory [[buffer(2)]],
                  constant ProbeParams& p [[buffer(3)]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup uint over[1];
    uint last = 0u, seen = 0u, first = 0u, looks = 0u, sum = 0u;
    for (; looks < p.looks; looks++) {
        if (tid == 0u) {
            uint v = look(mail, 0u);
            if (v != last) {
                if (seen == 0u) first = looks;
                if (seen < p.room) log[4u + seen] = v;
                seen++;
                last = v;
                put(mail, 2u * p.heartbeat, v);
            }
            put(mail, p.heartbeat, looks + 1u);
            over[0] = v == p.last ? 1u : 0u;
        }
        AFTER
        for (uint i = tid * 32u; i < p.sweep; i += 1024u) sum += memory[i];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        bool ends = over[0] != 0u;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (ends) break;
    }
    if (tid == 0u) {
        log[0] = seen;
        log[1] = first;
        log[2] = looks;
    }
    if (sum == 1u) log[3] = sum; // so that the sweep is not left out
}
`
