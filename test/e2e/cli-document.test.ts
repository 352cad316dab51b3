// docs/CLI.md is generated from the table of commands. UPDATE_DOCS=1 updates it.

import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Command, type OptionTexts, optionsOf } from '../../src/cli/call/command.ts'
import { variables } from '../../src/cli/call/environment.ts'
import { globalOptions } from '../../src/cli/call/options.ts'
import { usageOf } from '../../src/cli/help.ts'
import { loadGroups } from '../../src/cli/table.ts'
import { exitCodes } from '../../src/operations/exit-codes.ts'

const commandGroups = await loadGroups()
const commands = commandGroups.flatMap((group) => group.commands)
const path = fileURLToPath(new URL('../../docs/CLI.md', import.meta.url))

const introduction = `# The command line

<!-- Generated from the table of commands; update: UPDATE_DOCS=1, test/e2e/cli-document.test.ts -->

    gitlocket [--store <directory>] [--json] [--utc] <command> …

Answers go to standard output, everything else to standard error. With \`--json\` an answer is one
JSON value on one line, and so is an error, on standard error:
\`{"type":"error","error":{"type":"not_found_error","code":"not_found","message":"…","hint":"…",
"exit_code":3}}\`, with further facts such as \`path\`. Names and shapes are those of Anthropic's
Memory Stores API where it has them: a list is \`{"data":[…],"next_page":…}\`, the items say their
\`type\`, and \`next_page\` is null at the end. Every other answer is an object with a
\`type\`: that of what it is, such as \`memory\`, or else the name of the command, such as
\`device_remove\`. \`diff\`, \`blame\` and \`audit\` have both, since they say more than a
list. Codes are those of [ERRORS.md](ERRORS.md).

Paths are those of the store: \`notes.md\` means \`/notes.md\`. So does \`/memories/notes.md\`, as
the memory tool calls it, unless the store itself has such a path: if both may be meant, a terminal
asks, and elsewhere the exit code is 2. \`memories/notes.md\` always means a path of the store.

Texts are UTF-8 and kept byte for byte. Every command that changes something is durable when it
returns, and one commit (\`import\`: one for each file). Ctrl-C exits with 130; what was
acknowledged stays, and nothing is half done.

**Lists** are tables. On a terminal columns are cut with \`…\` to its width, ids are short, and
times are ages: \`3m\`, \`2h\`, \`5d\`, and the date after 30 days. In a pipe nothing is cut:
there is no head, a tab is between the fields, and ids, sizes and times are exact, for \`cut -f\`,
\`sort\` and \`awk -F'\\t'\`. Programs that need names for the fields use \`--json\`. Wherever an
id is expected, a beginning of it that no other has is enough; devices, API keys and workspaces
are also named by their name if only one has it.

**Times** are exact and in UTC in a pipe, in JSON and with \`--utc\`; else exact ones are local.
Dates that are typed begin in UTC; \`today\`, \`yesterday\` and \`monday\` begin in local time.

**Hidden characters** in texts, those that a terminal would obey or that are not seen, are shown
on a terminal as \`‹U+200B›\`, and a longer run as
\`‹6 hidden characters, U+E0049–U+E0072: "Ignore"›\`, with what tags and variation selectors
spell; \`--json\` escapes them as \`\\u200b\`, which is the same value. \`show\`, \`diff\` and
\`log --patch\` count them. In a pipe, texts are unchanged. Emoji, the joiners of Arabic and Indic
scripts and the direction marks of right-to-left texts are not marked where they belong.

**Secrets** are read from a file that a variable names, or asked for on a terminal without echo.
They are never arguments, and off a terminal there are no prompts. The texts of \`--text\`,
\`--old\`, \`--new\` and \`--reason\` are arguments, which other users of the machine may see
while the command runs: for private texts use \`--file\`, \`--old-file\`, \`--new-file\` or
\`-\`; a reason has no other form. In files with a secret, a pattern, a card or JSON, a byte-order
mark and line ends at the end are ignored, and UTF-16 with a mark is read as UTF-8 would be.

**Changes are recorded** as made by the user \`--actor\`, or the login name with characters other
than \`A-Za-z0-9._:@-\` replaced by \`-\`.

**\`edit\`** needs plaintext in a file. The file has mode 0600 in a directory of mode 0700
on a tmpfs (\`XDG_RUNTIME_DIR\`, else \`/dev/shm\`), and is removed when the editor ends, fails or
is interrupted. Two limits: the system may swap a tmpfs out unless its swap is encrypted, and an
editor that keeps swap, undo or backup files elsewhere writes plaintext there. After
\`kill -9\` the file stays until the next \`edit\`, which removes it once the editor has ended too;
\`doctor\`, \`verify --absence\` and \`redact --prove\` name it.

**The pager** of a terminal gets long answers through a pipe. \`less\` is set up to keep no
history and to write no file; other pagers run as the user has set them up. In a pipe, and with
\`--json\`, there is none.

**Root** is refused where the store, the state directory, the identity file or the data of a server
belongs to another user, who could not use what root writes there: run the command as that user.
\`doctor\` names what root has left already, with the \`chown\`.

**What destroys asks** on a terminal, and needs \`--yes\` elsewhere: \`redact\`, \`expire\`, \`key
recovery\` and \`key passwd --remove\`. \`rollback\` asks on a terminal only: as \`restore\` and
\`expire\`, it makes ordinary changes, which can be undone. \`redact\` cannot be undone. It
erases from this store: its
packs, loose objects, journal and caches. It cannot reach hosts, other clones and backups, which
keep the old objects until they take over the new history and forget the old one.

**\`export\`** writes plaintext, which is its purpose. It never follows links, and refuses names
that git would treat as its own, such as \`.git/config\`, and those that the disk would take for
those of another memory.
`

test('docs/CLI.md is generated from the current table of commands', () => {
  const wanted = document()
  if (process.env['UPDATE_DOCS'] === '1') writeFileSync(path, wanted)
  expect(readFileSync(path, 'utf8')).toBe(wanted)
})

test('names and aliases of commands are unique, and so are the options of each', () => {
  const names = commands.flatMap((command) => [command.name, ...(command.aliases ?? [])])
  expect(names).toEqual([...new Set(names)])
  for (const { options } of commands) {
    const all = optionsOf({ ...globalOptions, ...options })
    const used = all.flatMap(({ name, short }) => (short === undefined ? [name] : [name, short]))
    expect(used).toEqual([...new Set(used)])
  }
})

function document(): string {
  return [
    introduction,
    ...commandGroups.flatMap((group) => [
      `## ${group.title}\n`,
      ...group.commands.map(commandSection),
    ]),
    '## On every command\n',
    optionTable(globalOptions),
    '## Variables\n',
    table(
      ['variable', 'meaning'],
      Object.entries(variables).map(([name, summary]) => [`\`${name}\``, summary]),
    ),
    '## Exit codes\n',
    table(
      ['code', 'meaning'],
      [...exitCodes].map(([code, meaning]) => [String(code), meaning]),
    ),
  ]
    .join('\n')
    .replace(/\n+$/, '\n')
}

function commandSection(command: Command): string {
  const aliases = (command.aliases ?? []).map((alias) => `\`${alias}\``).join(', ')
  return [
    `### ${command.name}\n`,
    `    gitlocket ${usageOf(command, true)}\n`,
    `${command.summary}.${aliases === '' ? '' : ` Also ${aliases}.`}\n`,
    ...(command.notes ?? []).map((note) => `${note}\n`),
    ...(command.options === undefined ? [] : [optionTable(command.options)]),
  ].join('\n')
}

function optionTable(options: OptionTexts): string {
  return table(
    ['option', 'meaning'],
    Object.entries(options).map(([option, summary]) => [
      `\`${option.replaceAll('|', '\\|')}\``,
      summary,
    ]),
  )
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `${lines.join('\n')}\n`
}
