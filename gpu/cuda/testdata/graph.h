// Graphs. Of the nodes whose predecessors have run the last that was added runs first, so that a missing edge shows. A graph
// that runs must not be changed or destroyed.
struct KernelNode {
    void* function;
    unsigned grid[3], block[3], shared;
    void **params, **extra, *kernel, *context;
};
struct MemoryEnd {
    size_t x, y, z, detail;
    int kind;
    void *host, *device, *array, *unused;
    size_t pitch, height;
};
struct MemoryNode {
    MemoryEnd src, dst;
    size_t width, height, depth;
};
static_assert(sizeof(KernelNode) == 72 && sizeof(MemoryNode) == 200, "as in cuda.h");
struct GraphNode {
    std::function<void()> run;
    std::set<size_t> after;
    bool copies;
};
struct Graph {
    std::vector<GraphNode> nodes;
};
struct GraphExec {
    std::vector<GraphNode> nodes;
    std::atomic<int> running{0};
};
static std::atomic<long> graph_launches, graph_updates;
API long software_graph_launches() { return graph_launches; }
API long software_graph_updates() { return graph_updates; }

static std::function<void()> kernel_body(const KernelNode* k) {
    return launch_body(k->function, k->grid[0], k->grid[1], k->block[0], k->params);
}
static bool plain(const MemoryNode* m) {
    for (const MemoryEnd* e : {&m->src, &m->dst})
        if (e->kind != 4 || e->x != 0 || e->device == nullptr || e->pitch < m->width) return false;
    return m->width > 0 && m->height == 1 && m->depth == 1;
}
static std::function<void()> memory_body(const MemoryNode* m) {
    return [d = m->dst.device, s = m->src.device, n = m->width] { memcpy(d, s, n); };
}
static int add_node(size_t* out, Graph* g, const size_t* after, size_t n, std::function<void()> run, bool copies) {
    GraphNode node{std::move(run), {}, copies};
    for (size_t i = 0; i < n; i++) {
        if (after[i] == 0 || after[i] > g->nodes.size()) return 1;
        node.after.insert(after[i] - 1);
    }
    g->nodes.push_back(node);
    *out = g->nodes.size();
    return 0;
}
API int cuGraphCreate(Graph** g, unsigned) { BEGIN_IN_CONTEXT *g = new Graph; count("graph", 1); return 0; }
API int cuGraphDestroy(Graph* g) { delete g; count("graph", -1); return broken(); }
API int cuGraphAddKernelNode_v2(size_t* out, Graph* g, const size_t* after, size_t n, const KernelNode* k) {
    BEGIN_IN_CONTEXT
    return add_node(out, g, after, n, kernel_body(k), false);
}
API int cuGraphAddMemcpyNode(size_t* out, Graph* g, const size_t* after, size_t n, const MemoryNode* m, void* context) {
    BEGIN_IN_CONTEXT
    return plain(m) && context != nullptr ? add_node(out, g, after, n, memory_body(m), true) : 1;
}
API int cuGraphInstantiateWithFlags(GraphExec** e, Graph* g, unsigned long long) {
    BEGIN_IN_CONTEXT
    *e = new GraphExec;
    (*e)->nodes = g->nodes;
    count("graph exec", 1);
    return 0;
}
API int cuGraphUpload(GraphExec*, Stream*) { BEGIN_IN_CONTEXT return 0; }
API int cuGraphExecDestroy(GraphExec* e) {
    if (e->running != 0 && !sticky) {
        fprintf(stderr, "software: a graph is destroyed while it runs\n");
        abort();
    }
    delete e;
    count("graph exec", -1);
    return broken();
}
static int change(GraphExec* e, size_t node, bool copies, std::function<void()> run) {
    if (e->running != 0 || node == 0 || node > e->nodes.size() || e->nodes[node - 1].copies != copies) {
        fprintf(stderr, "software: a graph is changed while it runs, or not of this kind\n");
        abort();
    }
    graph_updates++;
    e->nodes[node - 1].run = std::move(run);
    return 0;
}
API int cuGraphExecKernelNodeSetParams_v2(GraphExec* e, size_t node, const KernelNode* k) {
    BEGIN_IN_CONTEXT
    return change(e, node, false, kernel_body(k));
}
API int cuGraphExecMemcpyNodeSetParams(GraphExec* e, size_t node, const MemoryNode* m, void*) {
    BEGIN_IN_CONTEXT
    return plain(m) ? change(e, node, true, memory_body(m)) : 1;
}
API int cuGraphLaunch(GraphExec* e, Stream* s) {
    BEGIN_IN_CONTEXT
    graph_launches++;
    e->running++;
    s->add([e] {
        std::set<size_t> left;
        for (size_t i = 0; i < e->nodes.size(); i++) left.insert(i);
        while (!left.empty() && !sticky) {
            for (auto i = left.rbegin(); i != left.rend(); ++i) {
                bool ready = true;
                for (size_t a : e->nodes[*i].after) ready = ready && left.count(a) == 0;
                if (!ready) continue;
                size_t next = *i;
                e->nodes[next].run();
                left.erase(next);
                break;
            }
        }
        e->running--;
    });
    return 0;
}
