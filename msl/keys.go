package msl

// Keys lists the keys of all kernels, each in its canonical form: those of the given element-wise ops (Map keys of an
// op and its types) in every variant of nulls, pending lengths and abilities, and those of all other skeletons.
func Keys(maps ...Key) []Key {
	var list []Key
	add := func(k Key) {
		k = Canonical(k)
		list = append(list, k)
		k.Caps = Float64
		if k = Canonical(k); k.Caps != 0 {
			list = append(list, k)
		}
	}
	for _, k := range maps {
		for _, f := range variants(allNulls(exprs[k.Op].Inputs())|Pending, 0) {
			k.Flags = f
			add(k)
		}
	}
	for _, k := range reductions() {
		for _, f := range variants(ANulls|Pending, 0) {
			k.Flags = f
			add(k)
		}
	}
	for _, k := range aggregates() {
		add(k)
		if of, _ := StateKey(k); of.Skeleton == Reduce {
			k.Skeleton = Aggregate
			for _, f := range variants(ANulls|Pending, 0) {
				k.Flags = f
				add(k)
			}
		}
	}
	for _, f := range variants(ANulls|Pending|EmitNull, 0) {
		if f&EmitNull == 0 || f&ANulls != 0 {
			add(Key{Skeleton: CompactCount, Flags: f})
		}
	}
	add(Key{Skeleton: CompactScan})
	moved := []Type{Bool, U8, U16, U32, U64}
	for _, t := range moved {
		add(Key{Skeleton: CompactScatter, In: t})
	}
	for index := I8; index <= U64; index++ {
		for _, t := range moved {
			for _, f := range variants(ANulls|BNulls|Pending, 0) {
				add(Key{Skeleton: Gather, In: index, Out: t, Flags: f})
			}
		}
	}
	add(Key{Skeleton: Fill})
	for _, t := range []Type{U8, U16, U32, U64, F32, F64} {
		for _, f := range variants(ANulls|Pending|EmitNull, 0) {
			add(Key{Skeleton: Member, In: t, Flags: f})
		}
	}
	for _, k := range cumulations() {
		add(k)
	}
	return list
}

// variants lists the combinations of flags.
func variants(flags, with Flags) []Flags {
	for f := Flags(1); f != 0; f <<= 1 {
		if flags&f != 0 {
			return append(variants(flags&^f, with), variants(flags&^f, with|f)...)
		}
	}
	return []Flags{with}
}

// reductions lists the keys of reductions without flags.
func reductions() []Key {
	list := []Key{
		{Skeleton: Reduce, Op: OpCount},
		{Skeleton: Reduce, Op: OpBool, In: Bool},
		{Skeleton: ReduceExact, Op: OpSum, In: F32},
		{Skeleton: ReduceExact, Op: OpSum, In: F64},
	}
	for t := I8; t <= F64; t++ {
		if t.integer() {
			list = append(list, Key{Skeleton: Reduce, Op: OpSum, In: t}, Key{Skeleton: Reduce, Op: OpMean, In: t})
		}
		list = append(list, Key{Skeleton: Reduce, Op: OpMinMax, In: t})
	}
	return list
}

// aggregates lists the keys of Finish.
func aggregates() []Key {
	var list []Key
	for _, op := range []string{"count", "count_null", "count_all"} {
		list = append(list, Key{Skeleton: Finish, Op: op, Out: I64})
	}
	for _, op := range []string{"sum", "mean", "min", "max", "min_max", "any", "all"} {
		for t := Bool; t <= F64; t++ {
			k := Key{Skeleton: Finish, Op: op, In: t, Out: FinishType(op, t)}
			if _, err := StateKey(k); err == nil {
				list = append(list, k)
			}
		}
	}
	return list
}
