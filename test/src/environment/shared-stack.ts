import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { inject } from 'vitest'
import { openStack, type RunningStack, type StackAccess, startStack } from '../stack/running-stack.ts'
import { listenOn } from './free-port.ts'
import { settingsOf, testStorageSettings } from './storage.ts'
import { isOtherStorage } from './storage-server.ts'

/** A stack with default settings that starts when a test file asks for it. */
export interface OfferedStack {
  /** Answers with the stack's folder as soon as the stack is ready. */
  url: string
  close(): Promise<void>
}

/**
 * Offers one stack to all test files of a run. Runs in the process that starts the test files. If the tests run against
 * a storage that is not ours, the stack uses that storage too.
 */
export async function offerStack(storageUrl: string): Promise<OfferedStack> {
  const env = isOtherStorage() ? settingsOf(storageUrl) : {}
  let started: Promise<RunningStack> | undefined
  const server = createServer((_, response) => {
    started ??= startStack({ env })
    started.then(
      ({ home }) => response.end(home),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  const port = await listenOn(server)
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.close()
      await started?.then(
        (stack) => stack.stop(),
        () => {}, // whoever asked for the stack knows that it did not start
      )
    },
  }
}

/** Returns the settings of the storage that the shared stack uses. */
export async function storageOfSharedStack(stack: StackAccess) {
  if (isOtherStorage()) return testStorageSettings()
  const credentials = JSON.parse(await readFile(join(stack.home, 'storage-credentials.json'), 'utf8'))
  return {
    S3_ENDPOINT: (await stack.info()).storage,
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'sluice',
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
}

/**
 * Opens the stack that test files share. Each test works on an app of its own, and no test ends a process or changes
 * what all apps have in common.
 */
export async function openSharedStack(): Promise<StackAccess> {
  const answer = await fetch(inject('stackOffer'))
  const text = await answer.text()
  if (!answer.ok) throw new Error(`the shared stack cannot start: ${text}`)
  return await openStack(text)
}
