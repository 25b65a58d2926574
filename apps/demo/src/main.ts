import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { printableLines } from '@sluice/client-cli/printable'
import { settings } from '@sluice/config'
import { sampleUserIds } from './sample.ts'

// Runs one import from start to end, on a temporary stack that is removed afterwards.
const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
const localApp = path('../../local/src/main.ts')
const cliApp = path('../../cli/src/main.ts')
const sample = path('../sample/customers.csv')

const home = await mkdtemp(join(tmpdir(), 'sluice-demo-'))
const ports = [
  'API_PORT',
  'DASHBOARD_PORT',
  'S3_GATEWAY_PORT',
  'STORAGE_PORT',
  'INBOX_PORT',
  'SMTP_PORT',
  'POSTGRES_PORT',
]
// Settings of a deployment in the shell's environment must not reach the demo's stack. The API adds its rate limits.
const inherited = Object.entries(process.env).filter(
  ([name]) => !(name.replace(/_FILE$/, '') in settings) && !(name in settings) && !/^(SLUICE|RATE_LIMIT)_/.test(name),
)
const environment = {
  ...Object.fromEntries(inherited),
  ...Object.fromEntries(ports.map((name) => [name, '0'])),
  SLUICE_HOME: home,
}

/** Aborts when the demo is to end early. */
const { signal, stop } = interruption()
// In sessions of their own, the stack and the commands do not get Ctrl-C: this process ends them in order.
const stack = spawn(process.execPath, [localApp], {
  env: environment,
  stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  detached: true,
})

try {
  heading('Starting Postgres, object storage, a mail inbox, the API and a worker on this machine')
  await untilReady(stack)
  await demonstrate()
} catch (error) {
  if (!signal.aborted) throw error
} finally {
  // The stack stops when the channel closes, and so it does if this process is killed.
  if (stack.connected) stack.disconnect()
  if (stack.exitCode === null && stack.signalCode === null) await once(stack, 'exit')
  await rm(home, { recursive: true, force: true, maxRetries: 5 })
}
console.log(`\nEverything is stopped and removed.${signal.aborted ? '' : ' To keep a stack running: npm start'}`)
stop()

async function demonstrate(): Promise<void> {
  heading('A new app, with its API token')
  const created = await sluice('apps', 'create', '--name', 'Demo', '--email', 'you@example.com', '--json')
  const { app_id: id, api_token: token } = JSON.parse(created) as { app_id: number; api_token: string }
  const app = String(id)

  heading('Its users: only registered users can have profile values')
  const users = join(home, 'users.txt')
  await writeFile(users, sampleUserIds())
  await sluice('users', 'register', '--app', app, '--file', users)

  heading('A CSV file of 12,000 rows, uploaded in two steps (POST for an address, PUT to storage), then imported')
  const started = performance.now()
  await sluice('import', sample, '--token', token, '--wait')
  console.log(
    `\nFrom the first request to the end of the import: ${((performance.now() - started) / 1000).toFixed(1)} s`,
  )

  heading('The result mail')
  const mail = await resultMail()
  console.log(indent(printableLines(mail)))

  heading('The first lines of the error file that the mail links to')
  const link = /http\S+error_files\S+/.exec(mail)?.[0]
  if (link === undefined) throw new Error('the mail has no link to the error file')
  const errorFile = await (await fetch(link)).text()
  console.log(indent(printableLines(errorFile.split('\n').slice(0, 9).map(clip).join('\n'))))

  heading('One user’s profile')
  await sluice('users', 'show', '--app', app, 'customer-00004')
}

/** Shows a command of `sluice` as a user would type it, runs it, and shows and returns its output. */
async function sluice(...args: string[]): Promise<string> {
  console.log(`$ npx sluice ${args.map((arg) => shorten(arg)).join(' ')}`)
  const child = spawn(process.execPath, [cliApp, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
    signal,
  })
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`sluice ${args[0]} ended with exit code ${code}`)
  console.log(text.trimEnd())
  return text
}

async function untilReady(child: ChildProcess): Promise<void> {
  let text = ''
  const ready = new Promise<void>((resolve, reject) => {
    child.on('exit', (code) => reject(new Error(`the stack ended with exit code ${code}`)))
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part
      if (/^ready$/m.test(text)) resolve()
    })
    signal.addEventListener('abort', () => reject(signal.reason))
  })
  await ready
  console.log(indent(text.trim()))
}

/** Waits for the result mail, which is sent after the end of the import. */
async function resultMail(): Promise<string> {
  const { inbox } = JSON.parse(await readFile(join(home, 'stack.json'), 'utf8')) as { inbox: string }
  const deadline = performance.now() + 30_000
  for (;;) {
    const mails = (await (await fetch(`${inbox}/api/mails`, { signal })).json()) as {
      to: string[]
      subject: string
      text: string
    }[]
    const [mail] = mails
    if (mail !== undefined) return `To: ${mail.to.join(', ')}\nSubject: ${mail.subject}\n\n${mail.text.trim()}`
    if (performance.now() > deadline) throw new Error('no mail arrived within 30 s')
    await delay(100, undefined, { signal })
  }
}

/**
 * Returns a signal that aborts at Ctrl-C, SIGTERM or SIGHUP, and a function that then ends this process as the system
 * signal would have done.
 */
function interruption(): { signal: AbortSignal; stop(): void } {
  const aborting = new AbortController()
  let by: NodeJS.Signals | undefined
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of names) {
    process.on(name, () => {
      by ??= name
      aborting.abort()
    })
  }
  return {
    signal: aborting.signal,
    stop() {
      if (by === undefined) return
      process.removeAllListeners(by)
      process.kill(process.pid, by)
    },
  }
}

function heading(text: string): void {
  console.log(`\n── ${text}\n`)
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}

function clip(line: string): string {
  return line.length > 150 ? `${line.slice(0, 149)}…` : line
}

/** Shortens paths and tokens, because the shown commands are for reading, not for copying. */
function shorten(arg: string): string {
  if (arg.startsWith('slc_')) return `${arg.slice(0, 10)}…`
  return arg.startsWith('/') ? (arg.split('/').at(-1) ?? arg) : arg
}
