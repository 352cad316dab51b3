// Mutants of the area "journal".

import type { MutatedFile } from '../mutant.ts'

export const journal: readonly MutatedFile[] = []
