// The command lines of ssh: the local one as git takes it from its settings (GIT_SSH_COMMAND,
// core.sshCommand), and the words of the one on the other side. Pure.

/** Words that end a command of their own: git, too, starts any other one without a shell. */
const needsShell = /[|&;<>()$`\\"' \t\n*?[#~=%]/

const shell = '/bin/sh'

/** Program and arguments; more arguments may follow. */
export function shellCommand(line: string): readonly string[] {
  return needsShell.test(line) ? [shell, '-c', `${line} "$@"`, line] : [line]
}

export function isShell(command: readonly string[]): boolean {
  return command[0] === shell
}

/** Quotes one argument for the shell on the other side of ssh. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
