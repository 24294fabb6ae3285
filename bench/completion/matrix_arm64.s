//go:build linux || darwin

#include "textflag.h"

// Leaf code of the C calling convention: native callers use it as it is.
// R0 a, R1 b, R2 c, R3 rows; clobbers nothing that C keeps.
TEXT ·matrixC(SB), NOSPLIT|NOFRAME, $0-0
row:
	VEOR V0.B16, V0.B16, V0.B16
	MOVD R2, R4
	MOVD $128, R5
zero:
	VST1.P [V0.S4], 16(R4)
	SUB    $1, R5
	CBNZ   R5, zero
	MOVD   R1, R6
	MOVD   $512, R7
k:
	FMOVS (R0), F1
	ADD   $4, R0
	VDUP  V1.S[0], V1.S4
	MOVD  R2, R4
	MOVD  $32, R5
j:
	VLD1.P 64(R6), [V2.S4, V3.S4, V4.S4, V5.S4]
	VLD1   (R4), [V16.S4, V17.S4, V18.S4, V19.S4]
	VFMLA  V1.S4, V2.S4, V16.S4
	VFMLA  V1.S4, V3.S4, V17.S4
	VFMLA  V1.S4, V4.S4, V18.S4
	VFMLA  V1.S4, V5.S4, V19.S4
	VST1.P [V16.S4, V17.S4, V18.S4, V19.S4], 64(R4)
	SUB    $1, R5
	CBNZ   R5, j
	SUB    $1, R7
	CBNZ   R7, k
	ADD    $2048, R2
	SUB    $1, R3
	CBNZ   R3, row
	RET

// func matrixHeld(a, b, c unsafe.Pointer, rows int)
TEXT ·matrixHeld(SB), NOSPLIT|NOFRAME, $0-32
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	MOVD c+16(FP), R2
	MOVD rows+24(FP), R3
	B    ·matrixC(SB)

// func matrixAddress() uintptr
TEXT ·matrixAddress(SB), NOSPLIT|NOFRAME, $0-8
	MOVD $·matrixC(SB), R0
	MOVD R0, ret+0(FP)
	RET
