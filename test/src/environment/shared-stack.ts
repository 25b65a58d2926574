import { once } from 'node:events'
import { createServer } from 'node:http'
import { inject } from 'vitest'
import { openStack, type RunningStack, type StackAccess, startStack } from '../stack/running-stack.ts'

/** A stack with default settings that starts when a test file asks for it. */
export interface OfferedStack {
  /** Answers with the stack's folder as soon as the stack is ready. */
  url: string
  /** Ends the stack if it was started. */
  close(): Promise<void>
}

/** Offers one stack to all test files of a run. Runs in the process that starts the test files. */
export async function offerStack(): Promise<OfferedStack> {
  let started: Promise<RunningStack> | undefined
  const server = createServer((_, response) => {
    started ??= startStack()
    started.then(
      ({ home }) => response.end(home),
      (error: Error) => response.writeHead(500).end(error.message),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.close()
      await started?.then(
        (stack) => stack.stop(),
        () => {}, // whoever asked for the stack knows that it did not start
      )
    },
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
