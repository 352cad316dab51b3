// Command lines as people configure them (GIT_SSH_COMMAND, core.sshCommand), into words: quotes and
// backslashes as a shell takes them, and nothing else of a shell, so that nothing is expanded or
// run. Pure.

import { StoreError } from '../errors.ts'

/** The words; at least one. Throws `invalid_input` for an open quote. */
export function splitCommand(text: string): string[] {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (character === '\\' && quote !== "'") {
      at += 1
      word = (word ?? '') + text.charAt(at)
    } else word = (word ?? '') + character
  }
  if (word !== undefined) words.push(word)
  if (quote !== '' || words.length === 0) {
    throw new StoreError('invalid_input', 'The command for ssh is empty or has an open quote')
  }
  return words
}

/** One word for the shell on the other side of ssh. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
