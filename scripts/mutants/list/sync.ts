// Mutants of the area "sync".

import type { MutatedFile } from '../mutant.ts'

export const sync: readonly MutatedFile[] = []
