//go:build linux || darwin

#include "textflag.h"

// Leaf code of the C calling convention: native callers use it as it is.
// DI a, SI b, DX c, CX rows; clobbers nothing that C keeps.
TEXT ·matrixC(SB), NOSPLIT|NOFRAME, $0-0
row:
	XORPS X0, X0
	MOVQ  DX, R8
	MOVQ  $128, R9
zero:
	MOVUPS X0, (R8)
	ADDQ   $16, R8
	DECQ   R9
	JNZ    zero
	MOVQ   SI, R10
	MOVQ   $512, R11
k:
	MOVSS  (DI), X1
	SHUFPS $0, X1, X1
	ADDQ   $4, DI
	MOVQ   DX, R8
	MOVQ   $32, R9
j:
	MOVUPS (R10), X2
	MOVUPS 16(R10), X3
	MOVUPS 32(R10), X4
	MOVUPS 48(R10), X5
	MULPS  X1, X2
	MULPS  X1, X3
	MULPS  X1, X4
	MULPS  X1, X5
	MOVUPS (R8), X6
	MOVUPS 16(R8), X7
	MOVUPS 32(R8), X8
	MOVUPS 48(R8), X9
	ADDPS  X2, X6
	ADDPS  X3, X7
	ADDPS  X4, X8
	ADDPS  X5, X9
	MOVUPS X6, (R8)
	MOVUPS X7, 16(R8)
	MOVUPS X8, 32(R8)
	MOVUPS X9, 48(R8)
	ADDQ   $64, R10
	ADDQ   $64, R8
	DECQ   R9
	JNZ    j
	DECQ   R11
	JNZ    k
	ADDQ   $2048, DX
	DECQ   CX
	JNZ    row
	RET

// func matrixHeld(a, b, c unsafe.Pointer, rows int)
TEXT ·matrixHeld(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), DI
	MOVQ b+8(FP), SI
	MOVQ c+16(FP), DX
	MOVQ rows+24(FP), CX
	JMP  ·matrixC(SB)

// func matrixAddress() uintptr
TEXT ·matrixAddress(SB), NOSPLIT, $0-8
	LEAQ ·matrixC(SB), AX
	MOVQ AX, ret+0(FP)
	RET
