// Mutants of the area "merge".

import type { MutatedFile } from '../mutant.ts'

export const merge: readonly MutatedFile[] = []
