static inline bool is_nan(bool) {
    return false;
}
