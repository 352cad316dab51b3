// Mutants of the area "purge".

import type { MutatedFile } from '../mutant.ts'

export const purge: readonly MutatedFile[] = []
