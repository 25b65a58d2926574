import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from '../environment/program.ts'

/** What the provider knows and does. */
export interface ProviderState {
  /** The claims of each account, by the account's subject. */
  accounts: Record<string, { email: string; email_verified: boolean; groups?: string[] }>
  /** The subject of the person who signs in; without it, the provider denies the sign-in. */
  person?: string
  /** False claims that the provider puts into its ID tokens, which remain correctly signed. */
  falseClaims?: Record<string, unknown>
  clockAheadMs?: number
  /** If true, all requests fail, except the request for the provider's metadata document. */
  broken?: boolean
}

/** An OpenID Connect provider in a process of its own. */
export interface TestProvider {
  issuer: string
  set(state: ProviderState): Promise<void>
  stop(): Promise<void>
}

/** Starts a provider with the dashboard at this address as its client. */
export async function startProvider(dashboardUrl: string): Promise<TestProvider> {
  const entry = fileURLToPath(new URL('./provider-process.ts', import.meta.url))
  const child = fork(entry, [dashboardUrl], {
    env: nodeEnvironment,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let errors = ''
  child.stderr?.on('data', (chunk) => {
    errors = `${errors}${chunk}`.slice(-4000)
  })
  const exited = once(child, 'exit')
  const answer = async () => {
    const message = once(child, 'message')
    const [first] = await Promise.race([
      message,
      exited.then(() => Promise.reject(new Error(`the provider ended: ${errors}`))),
    ])
    return first as { issuer: string }
  }
  const { issuer } = await answer()
  return {
    issuer,
    async set(state) {
      const accepted = answer()
      child.send(state)
      await accepted
    },
    async stop() {
      child.kill('SIGKILL')
      await exited
    },
  }
}
