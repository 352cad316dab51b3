// `completion`: prints a script that completes command lines in a shell, made from the table of
// commands alone. The scripts complete verbs, options and choices, and files where a command takes
// one; they leave paths of the store alone, since those would have to be decrypted.

import {
  optionsOf,
  positionalsOf,
  type Answer,
  type Command,
  type Context,
  type Input,
  type Option,
  usageError,
} from '../call/command.ts'
import { globalOptions } from '../call/options.ts'

export const commands: readonly Command[] = [
  {
    name: 'completion',
    summary: 'Print a script that completes commands in bash, zsh or fish',
    usage: '<shell>',
    notes: [
      'Put one of these lines into the file that your shell reads when it starts:',
      'eval "$(gitlocket completion bash)"',
      'eval "$(gitlocket completion zsh)"',
      'gitlocket completion fish | source',
    ],
    run: completion,
  },
]

/** The shells that there is a script for. */
export const shells: Readonly<Record<string, (all: readonly Command[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

async function completion(context: Context, input: Input): Promise<Answer> {
  const shell = input.argument(0)
  const script = shells[shell]?.(await context.commands())
  if (script !== undefined) return { text: script, json: { shell, script } }
  throw usageError(`The shell must be one of ${Object.keys(shells).join(', ')}`, 'completion')
}

/** The values and arguments that are files, by their names in the table. */
const fileNames: ReadonlySet<string | undefined> = new Set([
  'file',
  'directory',
  'source',
  'card-file',
])

function takesFile({ value, choices }: Option): boolean {
  return choices === undefined && fileNames.has(value)
}

function words(option: Option): readonly string[] {
  const { name, short } = option
  return [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]
}

/** All names, also aliases, with their commands. */
function named(all: readonly Command[]): readonly (readonly [name: string, Command])[] {
  return all.flatMap((one) => {
    return [one.name, ...(one.aliases ?? [])].map((name) => [name, one] as const)
  })
}

/** The words that may come first, and those that may follow the first word of a pair. */
function verbs(all: readonly Command[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>([['', new Set(['help'])]])
  for (const [name] of named(all)) {
    const [first = '', second] = name.split(' ')
    found.get('')?.add(first)
    if (second !== undefined) found.set(first, (found.get(first) ?? new Set()).add(second))
  }
  return found
}

function bashScript(all: readonly Command[]): string {
  const pairs = verbs(all)
  const first = [...pairs].map(([verb, next]) => `    '${verb}') words='${[...next].join(' ')}' ;;`)
  // The first pattern that matches counts: `report verify` comes before `report`.
  const longest = named(all).toSorted(([a], [b]) => (a < b ? 1 : -1))
  const options = longest.flatMap(([name, one]) => bashCases(name, one))
  return `# Completes gitlocket in bash: eval "$(gitlocket completion bash)"
_gitlocket() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]}
  local verb='' second='' words='' files='' at=1
  while [ "$at" -lt "$COMP_CWORD" ]; do
    case \${COMP_WORDS[at]} in
    --store) at=$((at + 1)) ;;
    -*) ;;
    *) if [ -z "$verb" ]; then verb=\${COMP_WORDS[at]}
       elif [ -z "$second" ]; then second=\${COMP_WORDS[at]}; fi ;;
    esac
    at=$((at + 1))
  done
  case $verb in
${first.join('\n')}
  esac
  [ -n "$second" ] && words=''
  case "$verb $second" in
  ${[...pairs.keys()]
    .filter((verb) => verb !== '')
    .map((verb) => `'${verb} '*`)
    .join('|')}) ;;
  *) second='' ;;
  esac
  case "$verb\${second:+ $second} $previous" in
  *' --store') files=yes words='' ;;
${options.join('\n')}
  esac
  if [ "$files" = yes ]; then COMPREPLY=($(compgen -f -- "$word"))
  else COMPREPLY=($(compgen -W "$words" -- "$word")); fi
}
complete -F _gitlocket gitlocket
`
}

/** What follows the options that take a value, and then what follows all else. */
function bashCases(name: string, command: Command): readonly string[] {
  const known = optionsOf({ ...globalOptions, ...command.options })
  const values = known.flatMap((option) => {
    if (option.value === undefined) return []
    const patterns = words(option)
      .map((word) => `'${name} ${word}'`)
      .join('|')
    const then = takesFile(option) ? 'files=yes' : `words='${(option.choices ?? []).join(' ')}'`
    return [`  ${patterns}) ${then} ;;`]
  })
  const isFile = positionalsOf(command).some((one) => fileNames.has(one.name))
  const options = known.flatMap(words).join(' ')
  const files = isFile ? ' case $word in -*) ;; *) files=yes ;; esac' : ''
  return [...values, `  '${name} '*) words="$words ${options}";${files} ;;`]
}

/** The one of bash, which zsh can run. */
function zshScript(all: readonly Command[]): string {
  return `# Completes gitlocket in zsh, after compinit: eval "$(gitlocket completion zsh)"
autoload -U +X bashcompinit && bashcompinit
${bashScript(all)}`
}

function fishScript(all: readonly Command[]): string {
  const summaries = new Map(named(all).map(([name, { summary }]) => [name, summary]))
  const first = [...verbs(all)].flatMap(([verb, next]) => {
    return [...next].map((word) => {
      const summary = summaries.get(`${verb} ${word}`.trim()) ?? ''
      const description = summary === '' ? '' : ` -d ${quoted(summary)}`
      return `complete -c gitlocket -n '__gitlocket_is ${verb}' -a ${word}${description}`
    })
  })
  const rows = named(all).flatMap(([name, one]) => fishRows(name, one))
  return `# Completes gitlocket in fish: gitlocket completion fish | source
function __gitlocket_words
    set -l line (commandline -opc)
    set -e line[1]
    set -l skip 0
    for word in $line
        if test $skip = 1
            set skip 0
        else if test "$word" = --store
            set skip 1
        else if not string match -q -- '-*' "$word"
            echo -- $word
        end
    end
end
function __gitlocket_is
    set -l words (__gitlocket_words)
    test "$words" = "$argv"
end
function __gitlocket_begins
    set -l words (__gitlocket_words)
    test (count $words) -ge (count $argv); and test "$words[1..(count $argv)]" = "$argv"
end
complete -c gitlocket -f
${optionsOf(globalOptions)
  .map((option) => fishOption('', option))
  .join('\n')}
${[...first, ...rows].join('\n')}
`
}

function fishRows(name: string, command: Command): readonly string[] {
  const when = ` -n '__gitlocket_begins ${name}'`
  const isFile = positionalsOf(command).some((one) => fileNames.has(one.name))
  return [
    ...(isFile ? [`complete -c gitlocket${when} -F`] : []),
    ...optionsOf(command.options).map((option) => fishOption(when, option)),
  ]
}

function fishOption(when: string, option: Option): string {
  const { name, short, value, choices, summary } = option
  const letter = short === undefined ? '' : ` -s ${short}`
  const needed = value === undefined ? '' : takesFile(option) ? ' -r -F' : ' -x'
  const values = choices === undefined ? '' : ` -a '${choices.join(' ')}'`
  return `complete -c gitlocket${when} -l ${name}${letter}${needed}${values} -d ${quoted(summary)}`
}

function quoted(text: string): string {
  return `'${text.replaceAll(/[\\']/g, '\\$&')}'`
}
