// Mutants of the area "redaction".

import type { MutatedFile } from '../mutant.ts'

export const redaction: readonly MutatedFile[] = []
