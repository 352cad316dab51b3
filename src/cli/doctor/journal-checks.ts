// The findings of `doctor` about a damaged journal: which file, where, what is intact on both
// sides, and how to continue. Runs only after the store was refused for that: a journal that is
// being written looks damaged too. Reads only.

import { mendStore } from '../../api/error-surface.ts'
import { systemDisk } from '../../disk/disk.ts'
import { framesOf, surveyJournals, type JournalSurvey } from '../../git/journal/journal-survey.ts'
import { ownDirectoryName } from '../../git/refs/repository.ts'
import type { Environment } from '../call/environment.ts'
import { countText } from '../text/words.ts'
import { fail, type Finding } from './finding.ts'

const JOURNAL_DAMAGED = 17

/** One finding for each damaged file. */
export function checkJournals({ storeDirectory }: Environment): readonly Finding[] {
  const surveys = surveyJournals(systemDisk, `${storeDirectory}/${ownDirectoryName}`)
  return [...surveys].flatMap(([name, survey]) => {
    if (survey.damage === undefined) return []
    return [fail('Journal', damageText(name, survey, survey.damage), mendStore, JOURNAL_DAMAGED)]
  })
}

function damageText(
  name: string,
  { before, after }: JournalSurvey,
  { start, end }: { readonly start: number; readonly end: number },
): string {
  const where = end > start ? `bytes ${start} to ${end}` : `cut off at byte ${start}`
  return (
    `${ownDirectoryName}/${name} is damaged (${where}); intact are ` +
    `${commandsText(before)} before that and ${commandsText(after)} after it`
  )
}

function commandsText(batches: JournalSurvey['before']): string {
  return countText(framesOf(batches).length, 'command', 'commands')
}
