// Pages for man(1), made from the table of commands alone: one for each command, and gitlocket(1),
// which lists them. Pure; scripts/manual.mjs writes the files.

import { exitCodes } from '../api/exit-codes.ts'
import type { Command } from './command.ts'
import { variables } from './environment.ts'
import { optionText, usageOf } from './help.ts'
import { globalOptions } from './options.ts'
import type { CommandGroup } from './table.ts'

const ABOUT = 'an encrypted, versioned memory store for AI agents, on git'

/** The pages, by the names of their files. */
export function manualPages(groups: readonly CommandGroup[]): ReadonlyMap<string, string> {
  const commands = groups.flatMap((group) => group.commands)
  const pages = commands.map((one) => [`${pageOf(one)}.1`, commandPage(one)] as const)
  return new Map([['gitlocket.1', overviewPage(groups)], ...pages])
}

/** `gitlocket-key-show` */
function pageOf({ name }: Command): string {
  return `gitlocket-${name.replaceAll(' ', '-')}`
}

function overviewPage(groups: readonly CommandGroup[]): string {
  const codes = [...exitCodes].map(([code, meaning]) => [String(code), meaning] as const)
  return page('gitlocket', ABOUT, [
    ...section('Synopsis', [bold('gitlocket [--store <directory>] [--json] <command> …')]),
    ...groups.flatMap(({ title, commands }) =>
      section(title, items(commands.map((one) => [`${pageOf(one)}(1)`, one.summary]))),
    ),
    ...section('Options', items(globalOptions.map((one) => [optionText(one), one.summary]))),
    ...section('Environment', items(variables.map(({ name, summary }) => [name, summary]))),
    ...section('Exit status', items(codes)),
  ])
}

function commandPage(command: Command): string {
  const { summary, options, notes = [] } = command
  return page(pageOf(command), summary, [
    ...section('Synopsis', [bold(`gitlocket ${usageOf(command, true)}`)]),
    ...(notes.length === 0 ? [] : section('Description', notes.flatMap(paragraph))),
    ...section(
      'Options',
      items([...options, ...globalOptions].map((one) => [optionText(one), one.summary])),
    ),
    ...section('See also', [bold('gitlocket(1)')]),
  ])
}

function page(name: string, summary: string, lines: readonly string[]): string {
  const head = [
    `.TH ${name.toUpperCase()} 1 "" gitlocket`,
    ...section('Name', [`${escaped(name)} \\- ${escaped(summary)}`]),
  ]
  return `${[...head, ...lines].join('\n')}\n`
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return [`.SH ${escaped(title.toUpperCase())}`, ...lines]
}

function paragraph(text: string): readonly string[] {
  return ['.PP', escaped(text)]
}

function items(rows: readonly (readonly [term: string, meaning: string])[]): readonly string[] {
  return rows.flatMap(([term, meaning]) => ['.TP', bold(term), escaped(meaning)])
}

function bold(text: string): string {
  return `\\fB${escaped(text)}\\fR`
}

/** A line of text: a dot or quote at its beginning would be a request to man. */
function escaped(text: string): string {
  const plain = text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replaceAll('…', '...')
  return /^[.']/.test(plain) ? `\\&${plain}` : plain
}
