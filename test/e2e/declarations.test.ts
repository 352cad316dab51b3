// The declarations that users compile against: under the oldest TypeScript that is promised, and
// with every type that they mention among the exports.

import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type * as TypeScript from '../../node_modules/@arethetypeswrong/core/node_modules/typescript/lib/typescript.js'
import { full } from '../support/seed.ts'

const dist = fileURLToPath(new URL('../../dist/', import.meta.url))
const entries = ['index', 'anthropic/memory-tool', 'mcp/mcp', 'server/server', 'web/web'].map(
  (name) => {
    return `${dist}${name}.d.ts`
  },
)

// The compiler of @arethetypeswrong/core; TypeScript 7 has no such interface.
const require = createRequire(createRequire(import.meta.url).resolve('@arethetypeswrong/core'))
const ts: typeof TypeScript = require('typescript')

const program = ts.createProgram(entries, {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  strict: true,
  noEmit: true,
})

test('they compile under TypeScript 5.6', { tags: 'slow' }, () => {
  expect(ts.version).toMatch(/^5\.6\./)
  const found = [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...program.getSourceFiles().filter(isOnTrial).flatMap(diagnosticsOf),
  ]
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual(
    [],
  )
})

/** What ours import is pinned: whether it is sound in itself takes ten times as long. */
function isOnTrial({ fileName }: TypeScript.SourceFile): boolean {
  return full || fileName.startsWith(dist)
}

function diagnosticsOf(file: TypeScript.SourceFile): readonly TypeScript.Diagnostic[] {
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
}

test('each type that they mention is exported', { tags: 'slow' }, () => {
  const checker = program.getTypeChecker()
  const exported = new Set(entries.flatMap((entry) => exportsOf(checker, entry)))
  const leaks = new Set<string>()
  const seen = new Set<TypeScript.Symbol>()
  const visit = (symbol: TypeScript.Symbol): void => {
    if (seen.has(symbol)) return
    seen.add(symbol)
    for (const declaration of symbol.declarations ?? []) {
      for (const mentioned of mentionedIn(checker, declaration)) {
        if (!exported.has(mentioned)) leaks.add(`${mentioned.name}, by ${symbol.name}`)
        visit(mentioned)
      }
    }
  }
  for (const symbol of exported) visit(symbol)
  expect([...leaks]).toEqual([])
  expect(seen.size).toBeGreaterThan(100)
})

function exportsOf(checker: TypeScript.TypeChecker, path: string): readonly TypeScript.Symbol[] {
  const file = program.getSourceFile(path)
  const module = file === undefined ? undefined : checker.getSymbolAtLocation(file)
  if (module === undefined) throw new Error(`${path} is not compiled`)
  return checker.getExportsOfModule(module).map((symbol) => originalOf(checker, symbol))
}

function originalOf(checker: TypeScript.TypeChecker, symbol: TypeScript.Symbol): TypeScript.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
}

/** Types of this package that a declaration names. */
function mentionedIn(
  checker: TypeScript.TypeChecker,
  declaration: TypeScript.Node,
): readonly TypeScript.Symbol[] {
  const found: TypeScript.Symbol[] = []
  const visit = (node: TypeScript.Node): void => {
    const name = ts.isTypeReferenceNode(node)
      ? node.typeName
      : ts.isExpressionWithTypeArguments(node)
        ? node.expression
        : ts.isTypeQueryNode(node)
          ? node.exprName
          : undefined
    const named = name === undefined ? undefined : checker.getSymbolAtLocation(name)
    const symbol = named === undefined ? undefined : originalOf(checker, named)
    if (symbol !== undefined && isOurs(symbol)) found.push(symbol)
    ts.forEachChild(node, visit)
  }
  if (declaration.getSourceFile().fileName.startsWith(dist)) visit(declaration)
  return found
}

function isOurs({ flags, declarations = [] }: TypeScript.Symbol): boolean {
  const isParameter = (flags & ts.SymbolFlags.TypeParameter) !== 0
  return !isParameter && declarations.some((one) => one.getSourceFile().fileName.startsWith(dist))
}
