import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Module, readModules, root } from './modules.ts'

// Rules that no linter knows: which module may import which, and how long a file may be.
interface SourceModule extends Module {
  files: { path: string; text: string; imports: string[] }[]
}

const modules = readModules().map(withFiles)
const moduleOf = new Map(modules.map((module) => [module.name, module]))

function withFiles(module: Module): SourceModule {
  const files = readdirSync(join(root, module.folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => {
      const file = join(module.folder, 'src', path)
      const text = readFileSync(join(root, file), 'utf8')
      return { path: file, text, imports: importsOf(text) }
    })
  return { ...module, files }
}

/**
 * Returns what a file imports or re-exports. Types are included, because files must not form a cycle of types either.
 */
function importsOf(text: string): string[] {
  const statements = text.matchAll(
    /^(?:import|export)\b[^'"]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gms,
  )
  return [...statements].flatMap(([, from, bare, dynamic]) => from ?? bare ?? dynamic ?? [])
}

const isTest = (path: string) => /\.(test|fixture)\.ts$|\/testing\//.test(path)

/** Returns a path from a node back to itself; undefined if there is none. */
function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>()
  const visit = (node: string, path: string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node]
    if (done.has(node)) return undefined
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next, [...path, node])
      if (cycle !== undefined) return cycle
    }
    done.add(node)
    return undefined
  }
  for (const node of edges.keys()) {
    const cycle = visit(node, [])
    if (cycle !== undefined) return cycle
  }
  return undefined
}

describe('who imports whom', () => {
  // design.md §1, Layout.
  test('packages have no cycles, tests included', () => {
    const edges = modules.map(
      ({ name, dependencies, devDependencies }) => [name, [...dependencies, ...devDependencies]] as const,
    )
    expect(findCycle(new Map(edges))).toBeUndefined()
  })

  test('files have no cycles, types included', () => {
    const edges = modules.flatMap(({ files }) =>
      files.map(({ path, imports }) => {
        const targets = imports.filter((target) => target.startsWith('.'))
        return [path, targets.map((target) => relative(root, resolve(root, dirname(path), target)))] as const
      }),
    )
    expect(findCycle(new Map(edges))).toBeUndefined()
  })

  test.each(modules.map((module) => [module.folder, module] as const))(
    '%s imports what its package.json names, and no app',
    (_, module) => {
      for (const { path, imports } of module.files) {
        for (const target of imports.filter((name) => name.startsWith('@sluice/'))) {
          const allowed = isTest(path) ? [...module.dependencies, ...module.devDependencies] : module.dependencies
          const name = target.split('/').slice(0, 2).join('/')
          expect(allowed, `${path} imports ${target}`).toContain(name)
          expect(moduleOf.get(name)?.folder, `${path} imports ${target}`).toMatch(/^packages\//)
        }
        for (const target of imports.filter((name) => name.startsWith('.'))) {
          const inside = relative(join(root, module.folder), resolve(root, dirname(path), target))
          expect(inside.startsWith('..'), `${path} reaches into another module: ${target}`).toBe(false)
        }
      }
    },
  )

  // design.md §1, Layout.
  test('profiles and csv depend on neither queue, HTTP nor S3', () => {
    const reach = (name: string): string[] =>
      (moduleOf.get(name)?.dependencies ?? []).flatMap((next) => [next, ...reach(next)])
    const known = [...reach('@sluice/profiles'), ...reach('@sluice/csv')]
    for (const stranger of ['@sluice/queue', '@sluice/storage', 'bullmq', 'ioredis', 'fastify', '@aws-sdk/client-s3']) {
      expect(known).not.toContain(stranger)
    }
  })
})

test('every HTTP server is created by packages/process/service, which enforces the policy for clients', () => {
  const own = 'packages/process/service/src/clients/server.ts'
  const others = modules
    .flatMap(({ files }) => files)
    .filter(({ path, text }) => !isTest(path) && /createServer[^'"]*from 'node:https?'|http\.createServer/.test(text))
  expect(others.map(({ path }) => path)).toEqual([own])
  for (const { files } of modules) {
    const made = files.filter(({ path, text }) => !isTest(path) && /= fastify\(/.test(text))
    for (const { text } of made) expect(text).toMatch(/createClientServer|hardenedServer/)
  }
})

describe('files', () => {
  const longest = 300

  test('are about one thing: none is longer than 300 lines', () => {
    const long = modules
      .flatMap(({ files }) => files)
      .filter(({ path, text }) => !isTest(path) && text.split('\n').length > longest)
    expect(long.map(({ path }) => path)).toEqual([])
  })

  test('the lockfile names no host of a registry', () => {
    expect(readFileSync(join(root, 'package-lock.json'), 'utf8')).not.toMatch(/"resolved": "https?:/)
  })
})
