import { beforeAll, describe, expect, test } from 'vitest'
import { openSampleApp } from '../dashboard/sample-app.ts'
import { addImports } from '../dashboard/sample-data.ts'
import { openOperator, openTestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn } from '../dashboard/visitor.ts'
import { openBeforeAll } from '../environment/opened.ts'

const dashboard = openBeforeAll(openTestDashboard)
let appId: number
beforeAll(async () => {
  await openOperator(dashboard)
  ;({ appId } = await openSampleApp(dashboard, 'Corner shop', 'anna@example.com'))
})

test('limits that are not valid stay in the form, with what limits look like', async () => {
  const operator = await signIn(dashboard, 'operator@example.com')
  const address = `/apps/${appId}/operation`
  const fields = { bulk_import: '5/0m', profile_keys: '600' }
  const refused = await operator.post(`${address}/limits`, fields, address)
  expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('A rate reads like 100/10m')])
  expect(refused.text).toMatch(/name="bulk_import" value="5\/0m".+name="profile_keys" [^>]*value="600"/s)
})

// second-day.md §6, Pauses.
describe('pausing', () => {
  test('an operator pauses and resumes an app with a button; its members see that imports are paused', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    const member = await signIn(dashboard, 'anna@example.com')
    const address = `/apps/${appId}/operation`
    const running = (await operator.get(address)).text
    expect(running).toContain('The imports of this app run.')
    expect(running).toContain(`href="${address}/pause"`)
    expect((await operator.post(`${address}/pause`)).status).toBe(303)
    const by = /The imports of this app are paused<\/strong> by operator@example.com since <time/
    expect((await operator.get(address)).text).toMatch(by)
    const queues = (await operator.get('/queues')).text
    expect(queues).toContain('The imports of 1 app are paused.')
    expect(queues).toMatch(/Corner shop<\/a>, paused by operator@example.com since <time/)
    expect((await member.get(`/apps/${appId}/imports`)).text).toContain('Imports are paused.')
    expect((await operator.post(`${address}/resume`, {}, address)).status).toBe(303)
    expect((await member.get(`/apps/${appId}/imports`)).text).not.toContain('Imports are paused.')
  })

  test('an operator pauses and resumes all apps on the page of queues', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    expect((await operator.get('/queues')).text).toContain('href="/queues/pause"')
    expect((await operator.post('/queues/pause')).status).toBe(303)
    const by = /The imports of all apps are paused<\/strong> by operator@example.com since <time/
    expect((await operator.get('/queues')).text).toMatch(by)
    expect((await operator.get(`/apps/${appId}/operation`)).text).toContain('all apps')
    expect((await operator.post('/queues/resume', {}, '/queues')).status).toBe(303)
    expect((await operator.get('/queues')).text).not.toContain('The imports of all apps are paused')
  })

  test('before a pause, an operator reads how many imports it stops, and what goes on', async () => {
    const { appId: busy } = await openSampleApp(dashboard, 'Busy shop', 'busy@example.com')
    await addImports(dashboard.db, busy)
    const operator = await signIn(dashboard, 'operator@example.com')
    for (const address of [`/apps/${busy}/operation/pause`, '/queues/pause']) {
      const { text } = await operator.get(address)
      expect(text).toContain('1 running import will be released after the current batch, and 1 queued import will')
      expect(text).toContain('requests and uploads are accepted')
    }
    expect((await operator.get(`/apps/${appId}/operation/pause`)).text).toContain('0 running imports will')
    expect(await dashboard.db.selectFrom('service_pause').selectAll().execute()).toEqual([])
  })

  test('whoever paused is named, although somebody else tried the same later', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    expect((await operator.post('/queues/pause')).status).toBe(303)
    await openOperator(dashboard, 'late@example.com')
    const late = await signIn(dashboard, 'late@example.com')
    expect((await late.post('/queues/pause', {}, '/queues')).status).toBe(303)
    expect((await late.get('/queues')).text).toContain('are paused</strong> by operator@example.com since')
    expect((await late.post('/queues/resume', {}, '/queues')).status).toBe(303)
  })

  test('members find neither the pages nor the buttons of operators', async () => {
    const member = await signIn(dashboard, 'anna@example.com')
    const home = `/apps/${appId}/imports`
    expect((await member.get(home)).text).not.toContain('/operation')
    expect((await member.get(`/apps/${appId}/operation`)).status).toBe(404)
    for (const path of [`/apps/${appId}/operation/pause`, '/queues/pause', '/queues/resume']) {
      expect([path, (await member.post(path, {}, home)).status]).toEqual([path, 404])
    }
    expect(await dashboard.db.selectFrom('service_pause').selectAll().execute()).toEqual([])
  })
})

describe('the navigation', () => {
  test('inside an app, operators also have the pages of the service in a group of their own; members do not', async () => {
    const service = /<ul aria-label="Service">.*?<\/ul>/s
    const operator = await signIn(dashboard, 'operator@example.com')
    const [group = ''] = service.exec((await operator.get(`/apps/${appId}/imports`)).text) ?? []
    const links = [...group.matchAll(/href="([^"]+)"/g)].map(([, address]) => address)
    expect(links).toEqual(['/apps', '/imports', '/queues', '/audit-log'])
    for (const link of links) expect((await operator.get(link ?? '')).status, link).toBe(200)
    const member = await signIn(dashboard, 'anna@example.com')
    expect((await member.get(`/apps/${appId}/imports`)).text).not.toMatch(service)
  })

  test('each page leads to its section of the help, which shows members nothing of operators', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    const member = await signIn(dashboard, 'anna@example.com')
    const [all, own] = [(await operator.get('/help')).text, (await member.get('/help')).text]
    for (const path of ['/queues', '/imports', '/audit-log', `/apps/${appId}/operation`, `/apps/${appId}/profiles`]) {
      const [, area = ''] = /href="\/help#([\w-]+)"/.exec((await operator.get(path)).text) ?? []
      expect(all, path).toContain(`<h2 id="${area}">`)
    }
    expect(own).toContain('<h2 id="profiles">')
    expect(own).not.toContain('<h2 id="queues">')
    for (const explained of ['An import is held if', 'can be undone', 'A dry run applies nothing', 'decimal commas'])
      expect(own).toContain(explained)
    expect((await member.get('/help/api')).headers.get('location')).toBe('http://api.test/docs')
  })
})
