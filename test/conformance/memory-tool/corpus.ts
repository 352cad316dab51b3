// All rows, by subject: each door of the memory tool must give the same texts.

import { answerChapters } from './rows-answers.ts'
import { editChapters } from './rows-edit.ts'
import { fileChapters } from './rows-files.ts'
import { inputChapters } from './rows-input.ts'
import { pathChapters } from './rows-paths.ts'
import { viewChapters } from './rows-view.ts'
import type { Chapter } from './steps.ts'

export const corpus: readonly Chapter[] = [
  ...answerChapters,
  ...viewChapters,
  ...editChapters,
  ...fileChapters,
  ...pathChapters,
  ...inputChapters,
]
