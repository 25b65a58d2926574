import { setTimeout as delay } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { openContext, phone } from '../../dashboard/browser.ts'
import { pick, type Random, seeded } from '../../environment/random.ts'
import { controlsOf, use } from './controls.ts'
import type { ExploredStack, Role } from './explored-stack.ts'
import { inspect, shapeOf, watch } from './invariants.ts'
import { addressParts } from './values.ts'

/** What all walks of a run share: how often they used what, and violations with the steps that led to them first. */
type Exploration = ReturnType<typeof exploration>

export function exploration(browser: Browser, stack: ExploredStack) {
  const [shapes, uses] = [new Map<string, number>(), new Map<string, number>()]
  return { browser, stack, shapes, uses, addresses: new Set(['/']), violations: new Map<string, string>() }
}

/** Signs in, and takes steps at random. The seed decides the size of the window, whether scripts run, and each step. */
export async function walk(of: Exploration, role: Role, seed: number, steps: number): Promise<void> {
  const random = seeded(seed)
  const scripts = random(4) > 0
  const context = await openContext(of.browser, of.stack, {
    ...(random(2) === 0 && { viewport: phone }),
    ...{ javaScriptEnabled: scripts, colorScheme: random(2) === 0 ? 'dark' : 'light', acceptDownloads: false },
  })
  const page = await context.newPage()
  const problems = watch(page)
  page.on('dialog', (dialog) => (random(2) === 0 ? dialog.accept() : dialog.dismiss()).catch(() => {}))
  const taken: string[] = []
  const signIn = async () => {
    await page.goto(await of.stack.signIn(role))
    const button = page.getByRole('main').getByRole('button', { name: 'Sign in' })
    return await button.click({ timeout: 3_000 }).then(() => 'sign in')
  }
  for (let step = 0; step < steps; step++) {
    const mustSignIn = step === 0 || (/^.sign-/.test(new URL(page.url()).pathname) && random(2) === 0)
    const stuck = delay(90_000, ['the page does not answer'], { ref: false })
    // What has left the page meanwhile, or is covered, cannot be used.
    const taking = Promise.race([mustSignIn ? signIn() : takeStep(page, of, random), stuck])
    const done = await taking.catch((error) => `could not: ${String(error).split('\n')[0]}`)
    await settle(page, of.stack.url)
    taken.push(`${done} → ${page.url().slice(0, 200)}`)
    problems.push(...(await Promise.race([inspectIfStill(page, of, scripts), stuck])), ...(await of.stack.errors()))
    for (const problem of problems.splice(0)) {
      const kind = problem.replace(/\d+|[\w-]{30,}/g, '#').slice(0, 200)
      if (of.violations.has(kind)) continue
      of.violations.set(kind, [problem, `as ${role}, seed ${seed}:`, ...taken].join('\n  '))
    }
  }
  await context.close()
}

async function takeStep(page: Page, of: Exploration, random: Random): Promise<string> {
  const chance = random(100)
  // A browser asks before it goes back to the answer to a form.
  const back = () => page.goBack().catch(() => page.goto('/'))
  if (chance < 6) return await back().then(() => 'back')
  if (chance < 9) return await page.reload().then(() => 'reload')
  const mailed = chance < 12 ? await of.stack.mailedAddresses() : []
  const known = pick([...of.addresses], random).split(/(?<=[/=])/)
  const changed = random(known.length)
  const replaced = (known[changed] ?? '').replace(/[^/=&?]+/, pick(addressParts, random))
  const address = mailed.length > 0 ? pick(mailed, random) : known.with(changed, replaced).join('')
  if (chance < 18) return await page.goto(address).then(() => `open ${address.slice(0, 200)}`)
  const [controls, shape] = [await controlsOf(page), await shapeOf(page)]
  const [isOfFrame, isField] = [random(4) === 0, random(4) === 0]
  const pool = controls.filter((each) => each.isOfFrame === isOfFrame && (isField || !each.isField))
  if (pool.length === 0) return await page.goto('/').then(() => 'open /')
  // Mostly one of the controls that were used least so far. Those of the frame are the same on all pages.
  const keyed = pool.map((each) => ({ ...each, key: `${isOfFrame || shape} ${each.label.replace(/\d+/g, '#')}` }))
  const usesOf = ({ key }: { key: string }) => of.uses.get(key) ?? 0
  const least = Math.min(...keyed.map(usesOf))
  const control = pick(random(3) === 0 ? keyed : keyed.filter((each) => usesOf(each) === least), random)
  of.uses.set(control.key, usesOf(control) + 1)
  return await use(page, control, random)
}

/** Waits until a pressed button has begun to navigate, and for the page. Returns from other hosts. */
async function settle(page: Page, url: string): Promise<void> {
  await page.waitForTimeout(60)
  await page.waitForLoadState('load', { timeout: 20_000 }).catch(() => {})
  if (!page.url().startsWith(url)) await page.goto('/', { timeout: 20_000 }).catch(() => {})
}

/** Inspects a page. Tries again if the page navigates meanwhile, because it cannot be read then. */
async function inspectIfStill(page: Page, of: Exploration, scripts: boolean, attempts = 3): Promise<string[]> {
  try {
    const shape = `${await shapeOf(page)}${scripts ? '' : ' (no scripts)'}`
    const visits = of.shapes.get(shape) ?? 0
    // axe-core needs timers, which do not run without scripts.
    const problems = await inspect(page, visits === 0 && scripts)
    of.shapes.set(shape, visits + 1)
    of.addresses.add(page.url().slice(of.stack.url.length))
    return problems
  } catch (error) {
    if (attempts === 0) return [`the page cannot be read: ${String(error)}`]
    await settle(page, of.stack.url)
    return await inspectIfStill(page, of, scripts, attempts - 1)
  }
}
