// The rules of DESIGN.md section 5 that a machine can check: which stage may import which, where the terminal is touched,
// what lies at the top of the repository.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { execa } from 'execa'
import { describe, expect, test } from 'vitest'

const REPOSITORY = fileURLToPath(new URL('..', import.meta.url))
const SOURCE = join(REPOSITORY, 'src')

/**
 * The stages in the order of the product's sentence: a stage is a folder of src, or a file of it, and imports itself and
 * stages before it. Rendering stands beside them, see below.
 */
const STAGES = [
  'types',
  'errors',
  'version',
  'pause',
  'text',
  'reference',
  'secrets',
  'decode',
  'locate',
  'files',
  'project',
  'fold',
  'retain',
  'transcript',
  'redact',
  'list',
  'check',
  'search',
  'prepare',
  'pipeline',
  'schemas',
  'index',
  'mcp',
  'cli',
]

/** Rendering makes strings of what these stages give, and is for the pipeline and what is behind it. */
const RENDER = {
  imports: ['types', 'errors', 'text', 'reference', 'project', 'retain', 'transcript', 'secrets', 'render'],
  importedBy: ['render', 'pipeline', 'schemas', 'index', 'mcp', 'cli'],
}

/** Stages, and files of others, that need no system and no library: they import own files only. */
const PURE = /^(types|errors|version|text\/|reference\/|project\/|retain\/|fold\/|transcript\/transcript|locate\/paths)/

const TOP_LEVEL = new Set(
  `package.json package-lock.json tsconfig.json biome.json src test fixtures bench bin docs skills README.md CHANGELOG.md
  CONTRIBUTING.md LICENSE build.js .ci .github .gitignore .gitattributes`.split(/\s+/),
)

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts'))
  .map((file) => file.split(sep).join('/'))
  .sort()

const imports = files.flatMap((from) =>
  importsOf(readFileSync(join(SOURCE, from), 'utf8')).map((to): Import => ({ from, to })),
)

/** What the import lines of a source name, static, type-only, re-exported and dynamic ones alike. */
function importsOf(source: string): string[] {
  const statement =
    /^\s*(?:import|export)\s[^'"`;]*?from\s*(['"])(.+?)\1|^\s*import\s*(['"])(.+?)\3|\bimport\s*\(\s*(['"])(.+?)\5/gm
  const named = [...withoutComments(source).matchAll(statement)].map((match) => match[2] ?? match[4] ?? match[6] ?? '')
  return [...new Set(named)]
}

function withoutComments(source: string): string {
  return source.replace(/^\s*\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}

const isOwn = (specifier: string) => specifier.startsWith('.')

/** The file of src that a relative import names. */
function targetOf({ from, to }: Import): string {
  return relative(SOURCE, join(SOURCE, dirname(from), to))
    .split(sep)
    .join('/')
}

function stageOf(file: string): string {
  return file.replace(/\.ts$/, '').split('/')[0] ?? ''
}

function mayImport(from: string, to: string): boolean {
  if (from === 'render') return RENDER.imports.includes(to)
  if (to === 'render') return RENDER.importedBy.includes(from)
  return STAGES.indexOf(to) !== -1 && STAGES.indexOf(to) <= STAGES.indexOf(from)
}

const show = ({ from, to }: Import) => `${from} imports ${to}`

describe('imports', () => {
  test('are seen in every form', () => {
    const source = `// import './comment.ts'\n/** import './doc.ts' */\nimport './a.ts'\nimport type { B } from './b.ts'
      import {\n  c,\n  d } from "./c.ts"\nexport { e } from './e.ts'\nexport * from './f.ts'\nawait import('./g.ts')\nimport h from 'h'`
    expect(importsOf(source).sort()).toEqual(['./a.ts', './b.ts', './c.ts', './e.ts', './f.ts', './g.ts', 'h'])
    expect(imports.length).toBeGreaterThan(0)
  })

  test('come from files that have a place in the design', () => {
    const known = new Set([...STAGES, 'render'])
    expect(files.filter((file) => !known.has(stageOf(file)))).toEqual([])
    expect([...known].filter((stage) => !files.some((file) => stageOf(file) === stage))).toEqual([])
  })

  test('never point to a later stage', () => {
    const later = imports.filter((edge) => isOwn(edge.to) && !mayImport(stageOf(edge.from), stageOf(targetOf(edge))))
    expect(later.map(show)).toEqual([])
  })

  test('of own files end in .ts and name a file', () => {
    expect(imports.filter((edge) => isOwn(edge.to) && !files.includes(targetOf(edge))).map(show)).toEqual([])
  })

  test('form no cycle', () => {
    const targets = new Map(
      files.map((file) => [file, imports.filter((edge) => edge.from === file && isOwn(edge.to)).map(targetOf)]),
    )
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (file: string, path: readonly string[]) => {
      if (path.includes(file)) cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      if (path.includes(file) || done.has(file)) return
      for (const target of targets.get(file) ?? []) visit(target, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
    expect(cycles).toEqual([])
  })

  test('of pure files are own files only', () => {
    const pure = imports.filter(({ from }) => PURE.test(from))
    expect(pure.length).toBeGreaterThan(10)
    expect(pure.filter(({ to }) => !isOwn(to)).map(show)).toEqual([])
  })

  test('of render are no part of Node', () => {
    const render = imports.filter(({ from }) => stageOf(from) === 'render')
    expect(render.filter(({ to }) => to.startsWith('node:')).map(show)).toEqual([])
  })

  test('of Node say node:', () => {
    const builtin =
      /^(fs|path|os|stream|util|crypto|zlib|buffer|events|process|child_process|url|tty|worker_threads)(\/|$)/
    expect(imports.filter(({ to }) => builtin.test(to)).map(show)).toEqual([])
  })
})

describe('the terminal', () => {
  test('is touched in cli/shell.ts only', () => {
    const terminal =
      /\bprocess\s*\.\s*(stdin|stdout|stderr|exitCode|exit|reallyExit)\b|\bconsole\s*\.|from 'node:process'/
    const touching = files.filter((file) => terminal.test(withoutComments(readFileSync(join(SOURCE, file), 'utf8'))))
    expect(touching).toEqual(['cli/shell.ts'])
  })

  test('is loaded by no library file', () => {
    const libraries = /^(chalk|commander|string-width|ndjson)$/
    const loading = imports.filter(({ from, to }) => libraries.test(to) && !['render', 'cli'].includes(stageOf(from)))
    expect(loading.map(show)).toEqual([])
  })
})

describe('the repository', () => {
  test('has nothing at its top but what belongs there', async () => {
    const { stdout } = await execa({ cwd: REPOSITORY })`git ls-files --cached --others --exclude-standard -z`
    const entries = new Set(
      stdout
        .split('\0')
        .filter((path) => path !== '')
        .map((path) => path.split('/')[0] ?? ''),
    )
    expect([...entries].filter((entry) => !TOP_LEVEL.has(entry))).toEqual([])
  })

  test('has a bin that loads the bundle and does nothing else', () => {
    expect(readFileSync(join(REPOSITORY, 'bin/dsh-ref.js'), 'utf8')).toBe(
      "#!/usr/bin/env node\nrequire('../dist/bundle/main.js')\n",
    )
  })
})
