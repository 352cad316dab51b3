// Splits configured command lines (GIT_SSH_COMMAND, core.sshCommand) into arguments: quotes and
// backslashes work as in a shell; nothing else does, so that nothing is expanded or run. Pure.

import { StoreError } from '../errors.ts'

/** The arguments; at least one. Throws `invalid_input` for an unclosed quote. */
export function splitCommand(text: string): string[] {
  const args: string[] = []
  let arg: string | undefined
  let quote = ''
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (quote === '' && /\s/.test(character)) {
      if (arg !== undefined) args.push(arg)
      arg = undefined
    } else if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      arg ??= ''
    } else if (character === '\\' && quote !== "'") {
      at += 1
      arg = (arg ?? '') + text.charAt(at)
    } else arg = (arg ?? '') + character
  }
  if (arg !== undefined) args.push(arg)
  if (quote !== '' || args.length === 0) {
    throw new StoreError('invalid_input', 'The command for ssh is empty or has an unclosed quote')
  }
  return args
}

/** Quotes one argument for the shell on the other side of ssh. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
