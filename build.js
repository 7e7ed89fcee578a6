// Builds dist: the program, bundled into a file for what all commands need and one for what only some do; the library, as
// the modules that src/index.ts reaches, with their types; and what the program itself makes for the package, its man page
// and JSON Schemas.

import { execFileSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { build, transform } from 'esbuild'

const OUT = 'dist/bundle'
const common = { target: 'node20', platform: 'node', logLevel: 'warning', legalComments: 'none' }

rmSync('dist', { recursive: true, force: true })
mkdirSync(OUT, { recursive: true })

// The SDK loads ajv for forms that a server may ask a person to fill in, which takes a sixth of the start of "mcp"; this
// one asks nobody.
const withoutForms = {
  name: 'without-forms',
  setup(build) {
    build.onLoad({ filter: /@modelcontextprotocol.sdk.dist.esm.validation.ajv-provider\.js$/ }, () => ({
      contents: `export class AjvJsonSchemaValidator {
        getValidator() { throw new Error('This server has no forms') }
      }`,
    }))
  },
}

// esbuild splits modules only, and Node starts CommonJS in less time: so the parts are made first, and then made over.
const { outputFiles } = await build({
  ...common,
  bundle: true,
  splitting: true,
  format: 'esm',
  entryPoints: { main: 'src/cli/start.ts' },
  outdir: OUT,
  sourcemap: 'inline',
  write: false,
  plugins: [withoutForms],
})
for (const { path, text } of outputFiles) {
  const name = basename(path)
  const { code, map } = await transform(text, {
    ...common,
    format: 'cjs',
    // Parts that are loaded when they are needed are required, too: import() would start the loader of modules.
    supported: { 'dynamic-import': false },
    sourcefile: name,
    sourcemap: 'external',
  })
  writeFileSync(join(OUT, name), `${code}//# sourceMappingURL=${name}.map\n`)
  writeFileSync(join(OUT, `${name}.map`), map)
}
writeFileSync(join(OUT, 'package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`)

const typescript = join(createRequire(import.meta.url).resolve('typescript/package.json'), '../bin/tsc')
execFileSync(process.execPath, [typescript, '-p', 'src/tsconfig.json'], { stdio: 'inherit' })
execFileSync(process.execPath, ['bin/dsh-ref.js', '__assets'], { stdio: 'inherit' })
