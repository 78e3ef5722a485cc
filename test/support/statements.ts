/**
 * Compares the literal SQL of source files with a schema: each statement is prepared, its columns are those of the row type
 * that `db.query<Row, Params>` claims, of the same kind, and its parameters those of `Params`.
 */
import { relative } from 'node:path'

import ts from 'typescript'

import type { Db } from '../../src/store/db/connection.ts'

/** Statements on tables. */
const STATEMENT = /^\s*(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b/
const METHODS = ['query', 'prepare', 'run']

export type Compared = {
  /** Number of statements that were prepared. */
  prepared: number
  /** Places of queries with a row type whose text is put together while the program runs. */
  computed: string[]
  /** `file:line: reason`. */
  faults: string[]
}

/** Checks the files of a program against databases with the schemas that their statements are for, tried in order. */
export function compareStatements(
  root: string,
  files: readonly string[],
  databases: readonly Db[],
): Compared {
  const program = ts.createProgram({
    rootNames: [...files],
    options: {
      ...ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile).config.compilerOptions,
      target: ts.ScriptTarget.ESNext,
      lib: ['lib.esnext.d.ts'],
      module: ts.ModuleKind.Preserve,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      moduleDetection: ts.ModuleDetectionKind.Force,
      types: [`${root}/node_modules/bun-types`],
    },
  })
  const checker = program.getTypeChecker()
  const wanted = new Set(files)
  const result: Compared = { prepared: 0, computed: [], faults: [] }
  for (const source of program.getSourceFiles()) {
    if (!wanted.has(source.fileName)) continue
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) check(source, node)
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return result

  function check(source: ts.SourceFile, call: ts.CallExpression): void {
    const [text] = call.arguments
    if (text === undefined || !ts.isPropertyAccessExpression(call.expression)) return
    if (!METHODS.includes(call.expression.name.text)) return
    const { line } = source.getLineAndCharacterOfPosition(call.getStart())
    const place = `${relative(root, source.fileName)}:${line + 1}`
    const statements = literalsOf(text)
    if (statements === null) return void (call.typeArguments && result.computed.push(place))
    const [row, params] = call.typeArguments ?? []
    for (const sql of statements.filter((it) => STATEMENT.test(it))) {
      result.prepared += 1
      const found = describe(sql)
      const faults =
        typeof found === 'string'
          ? [found]
          : [
              ...(row ? rowFaults(checker.getTypeFromTypeNode(row), found.columns) : []),
              ...(params ? paramFaults(checker.getTypeFromTypeNode(params), sql) : []),
            ]
      result.faults.push(...faults.map((it) => `${place}: ${it}`))
    }
  }

  /** The columns of a statement with their declared types, or the error of SQLite. */
  function describe(sql: string): { columns: Map<string, string | null> } | string {
    let first: string | null = null
    for (const db of databases)
      try {
        using statement = db.prepare(sql)
        const { columnNames, declaredTypes } = statement as unknown as {
          columnNames: string[]
          declaredTypes: (string | null)[]
        }
        return {
          columns: new Map(columnNames.map((name, at) => [name, declaredTypes[at] ?? null])),
        }
      } catch (error) {
        first ??= String(error instanceof Error ? error.message : error)
      }
    return first ?? 'no database'
  }

  function rowFaults(type: ts.Type, columns: ReadonlyMap<string, string | null>): string[] {
    if (type.flags & (ts.TypeFlags.Never | ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return []
    if (checker.getIndexInfosOfType(type).length > 0) return []
    const fields = new Map(
      (type.isUnion() ? type.types : [type])
        .flatMap((it) => checker.getPropertiesOfType(it))
        .map((it) => [it.name, it]),
    )
    return [
      ...[...fields.keys()].filter((it) => !columns.has(it)).map((it) => `no column ${it}`),
      ...[...columns.keys()]
        .filter((it) => !fields.has(it))
        .map((it) => `the row type has no ${it}`),
      ...[...columns].flatMap(([name, declared]) => {
        const field = fields.get(name)
        if (field === undefined || declared === null) return []
        const kind = checker.getNonNullableType(checker.getTypeOfSymbol(field))
        return fits(kind, declared)
          ? []
          : [`${name} is ${declared}, the row type says ${checker.typeToString(kind)}`]
      }),
    ]
  }

  function paramFaults(type: ts.Type, sql: string): string[] {
    const named = new Set(
      [...sql.replaceAll(/'(?:[^']|'')*'|--.*$/gm, '').matchAll(/\$(\w+)/g)].map(
        ([, it = '']) => it,
      ),
    )
    const given = checker.isTupleType(type)
      ? checker.getTypeArguments(type as ts.TypeReference)[0]
      : type
    if (given === undefined) return [...named].map((it) => `no value of $${it}`)
    if (given.flags & ts.TypeFlags.Any || checker.getIndexInfosOfType(given).length > 0) return []
    const names = new Set(
      (given.isUnion() ? given.types : [given])
        .flatMap((it) => checker.getPropertiesOfType(it))
        .map((it) => it.name),
    )
    return [...named].filter((it) => !names.has(it)).map((it) => `no value of $${it}`)
  }

  /**
   * The texts that an expression can have, where they are known before the program runs; else null. A condition has the texts of
   * both branches, a call of a constant function the texts of its expression; `values` has the arguments.
   */
  function literalsOf(
    node: ts.Expression,
    values: ReadonlyMap<ts.Symbol, string[] | null> = new Map(),
  ): string[] | null {
    const each = (inner: ts.Expression) => literalsOf(inner, values)
    if (ts.isStringLiteralLike(node) || ts.isNumericLiteral(node)) return [node.text]
    if (
      ts.isParenthesizedExpression(node) ||
      ts.isAsExpression(node) ||
      ts.isSatisfiesExpression(node)
    )
      return each(node.expression)
    if (ts.isTemplateExpression(node))
      return node.templateSpans.reduce<string[] | null>(
        (texts, { expression, literal }) => joined(joined(texts, each(expression)), [literal.text]),
        [node.head.text],
      )
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
      return joined(each(node.left), each(node.right))
    if (ts.isConditionalExpression(node)) {
      const [yes, no] = [each(node.whenTrue), each(node.whenFalse)]
      return yes && no && [...yes, ...no]
    }
    if (ts.isCallExpression(node)) {
      const called = constantOf(node.expression)
      if (!called || !ts.isArrowFunction(called) || ts.isBlock(called.body)) return null
      const given = called.parameters.map(({ name }, at) => {
        const argument = node.arguments[at]
        return [checker.getSymbolAtLocation(name)!, argument ? each(argument) : null] as const
      })
      return literalsOf(called.body, new Map(given))
    }
    if (!ts.isIdentifier(node)) return null
    const symbol = checker.getSymbolAtLocation(node)
    if (symbol && values.has(symbol)) return values.get(symbol) ?? null
    const constant = constantOf(node)
    return constant && literalsOf(constant)
  }

  /** The initial value of a constant. */
  function constantOf(node: ts.Expression): ts.Expression | null {
    if (!ts.isIdentifier(node)) return null
    let symbol = checker.getSymbolAtLocation(node)
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    const declaration = symbol?.valueDeclaration
    if (!declaration || !ts.isVariableDeclaration(declaration)) return null
    if (!(ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const)) return null
    return declaration.initializer ?? null
  }
}

/** Every text of the first list with every one of the second. */
const joined = (first: string[] | null, second: string[] | null): string[] | null =>
  first && second && first.flatMap((one) => second.map((other) => one + other))

/** True if a column of a declared type holds values of a type. */
function fits(type: ts.Type, declared: string): boolean {
  const parts = type.isUnion() ? type.types : [type]
  return parts.every((it) => {
    if (it.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.Never)) return true
    if (/INT|REAL/.test(declared)) return (it.flags & ts.TypeFlags.NumberLike) !== 0
    if (declared === 'TEXT') return (it.flags & ts.TypeFlags.StringLike) !== 0 || isBranded(it)
    if (declared === 'BLOB') return it.symbol?.name === 'Uint8Array'
    return true
  })
}

/** A text with a mark of its kind. */
function isBranded(type: ts.Type): boolean {
  return (
    type.isIntersection() && type.types.some((it) => (it.flags & ts.TypeFlags.StringLike) !== 0)
  )
}
