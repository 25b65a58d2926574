import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { openScratch } from '../../environment/scratch.ts'
import { watchMemory } from '../../memory/peak-memory.ts'
import { ended, openApp } from '../../stack/client.ts'
import { startStack } from '../../stack/running-stack.ts'
import { makeFile, shapesOf } from './import/file.ts'
import { printTargets, type Target } from './measuring.ts'
import { registerUsersOf, upload } from './mixed.ts'

/** Bytes of a row of the file. */
const rowBytes = 110

/** The memory that a worker may take, MB. */
const mostMemory = [
  { phase: 'first', must: 260 },
  { phase: 'again', must: 400 },
]

/** What is imported, and whether once more. */
interface LargeFile {
  bytes: number
  users: number
  again?: boolean
}

/** The longest time that an import may take, ms. */
const longestMs = 60 * 60_000

/**
 * Shows that a worker's memory does not grow with the file (design.md §4, Bounded memory): `[--size 1GB] [--users
 * 1000000]`. With as many users as rows, `--again` also measures the same file again, when the worker holds the hashes
 * of all profiles. Returns whether the targets are met.
 */
export async function benchMemory(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      size: { type: 'string', default: '1GB' },
      users: { type: 'string', default: '1000000' },
      again: { type: 'boolean', default: false },
    },
  })
  const [, digits = '', unit = ''] = /^(\d+)(KB|MB|GB)$/.exec(values.size) ?? []
  const bytes = Number(digits) * ({ KB: 1e3, MB: 1e6, GB: 1e9 }[unit] ?? 0)
  const users = Number(values.users)
  if (!(bytes > 0 && users > 0)) throw new Error('--size is a size such as 100MB or 1GB, --users a number')
  return printTargets(await measureMemory({ bytes, users, again: values.again }))
}

/**
 * Imports a file on a separate stack, whose rows name each user several times, and with `again` once more.
 *
 * Returns the worker's peak memory in each import, beside the target. Throws if an import does not end as it should.
 */
export async function measureMemory({ bytes, users, again }: LargeFile): Promise<Target[]> {
  await using scratch = await openScratch('sluice-bench-memory-')
  const { first } = shapesOf(Math.ceil(bytes / rowBytes))
  const file = await makeFile(scratch.path, { ...first, users })
  const stack = await startStack()
  try {
    const app = await openApp(stack)
    console.error(`registering ${users} users`)
    await registerUsersOf(stack, app, file)
    const targets: Target[] = []
    for (const { phase, must } of again ? mostMemory : mostMemory.slice(0, 1)) {
      const memory = watchMemory(async () => (await stack.info()).processes.worker ?? [])
      console.error(`importing ${file.bytes} bytes, ${file.written} rows`)
      const importId = await upload(stack, app, file)
      const view = await ended(stack.api, app.token, importId, longestMs)
      const measured = Math.ceil((await memory.end()) / 1e6)
      assert.deepEqual([view.state, view.rows_total, view.rows_failed], ['completed', file.written, file.failing])
      const name = `peak RSS of the worker, file of ${(file.bytes / 1e9).toFixed(2)} GB, ${phase}, MB`
      targets.push({ name, measured, must, digits: 0 })
    }
    return targets
  } finally {
    await stack.stop()
  }
}
