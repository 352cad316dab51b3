// Input that no model should write: each refusal names the parameter and the expected value.

import { type Chapter, type CommandName, content, create, lists, no, type Row } from './steps.ts'

/** An input of each command that is taken. */
export const valid = {
  view: { path: '/memories/a' },
  create: { path: '/memories/b', file_text: 'x' },
  str_replace: { path: '/memories/a', old_str: 'x', new_str: 'y' },
  insert: { path: '/memories/a', insert_line: 0, insert_text: 'x' },
  delete: { path: '/memories/a' },
  rename: { old_path: '/memories/a', new_path: '/memories/b' },
} as const

const commandNames = ['view', 'create', 'str_replace', 'insert', 'delete', 'rename'] as const

const required: readonly (readonly [command: CommandName, parameter: string])[] = [
  ['view', 'path'],
  ['create', 'path'],
  ['create', 'file_text'],
  ['str_replace', 'path'],
  ['str_replace', 'old_str'],
  ['insert', 'path'],
  ['insert', 'insert_line'],
  ['insert', 'insert_text'],
  ['delete', 'path'],
  ['rename', 'old_path'],
  ['rename', 'new_path'],
]

const wrong: readonly unknown[] = [null, true, 1.5, [], ['/memories/a'], {}]

/** Texts that cannot be stored. */
const unstorable: readonly (readonly [command: CommandName, parameter: string, value: string])[] = [
  ['create', 'file_text', 'a\0b'],
  ['create', 'file_text', '\ud83d'],
  ['str_replace', 'new_str', '\0'],
  ['str_replace', 'new_str', '\ude00'],
  ['insert', 'insert_text', '\0'],
  ['insert', 'insert_text', 'x\ud83d'],
]

const file = create('/memories/a', 'x')
const untouched = [content('/a', 'x'), lists('/memories', '1B', '1B a')] as const

function withoutIt([command, parameter]: (typeof required)[number]): Row {
  const { [parameter]: _, ...input }: Record<string, unknown> = valid[command]
  const refusal = new RegExp(`^Error: Missing \`${parameter}\` parameter: it should be a`)
  return [
    `${command} without ${parameter}`,
    file,
    no(command, input, refusal),
    no(command, { ...input, [parameter]: undefined }, refusal),
    ...untouched,
  ]
}

function withWrong([command, parameter]: readonly [CommandName, string]): Row {
  const refusal = new RegExp(`^Error: Invalid \`${parameter}\` parameter: it should be (an?|two) `)
  const refusals = wrong.map((value) =>
    no(command, { ...valid[command], [parameter]: value }, refusal),
  )
  return [`${command} with a wrong ${parameter}`, file, ...refusals, ...untouched]
}

function withUnstorable([command, parameter, value]: (typeof unstorable)[number]): Row {
  const refusal = new RegExp(`^Error: Invalid \`${parameter}\` parameter: .*well-formed Unicode`)
  return [
    `${command} with ${parameter} ${JSON.stringify(value)}`,
    file,
    no(command, { ...valid[command], [parameter]: value }, refusal),
    ...untouched,
  ]
}

function withoutObject(command: CommandName): Row {
  const refusal = /^Error: The input should be an object with the parameters /
  const inputs = [undefined, null, 'x', 1, true, []]
  return [
    `${command} with an input that is no object`,
    file,
    ...inputs.map((input) => no(command, input, refusal)),
    ...untouched,
  ]
}

const notInteger = /^Error: Invalid `insert_line` parameter: it should be an integer/
const others: readonly Row[] = [
  [
    'an insert_line that is no integer',
    file,
    ...['1', Number.NaN, Number.POSITIVE_INFINITY, 0.5].map((insert_line) =>
      no('insert', { ...valid.insert, insert_line }, notInteger),
    ),
    ...untouched,
  ],
  [
    'an empty old_str',
    file,
    no(
      'str_replace',
      { path: '/memories/a', old_str: '', new_str: 'y' },
      /^Error: Invalid `old_str` parameter: it should be a string that is not empty/,
    ),
    ...untouched,
  ],
  [
    'unknown parameters are ignored',
    { ...file, input: { path: '/memories/a', file_text: 'x', more: 1 } },
    ...untouched,
  ],
]

const optional = [
  ['str_replace', 'new_str'],
  ['view', 'view_range'],
] as const

export const inputChapters: readonly Chapter[] = [
  { name: 'parameters that are missing', rows: required.map(withoutIt) },
  { name: 'parameters that are wrong', rows: [...required, ...optional].map(withWrong) },
  { name: 'texts that cannot be stored', rows: unstorable.map(withUnstorable) },
  { name: 'inputs that are no objects', needs: 'handlers', rows: commandNames.map(withoutObject) },
  { name: 'other inputs', rows: others },
]
