// Runs the four apps in one process, which loads and instruments their libraries once.
for (const app of ['api', 'worker', 'dashboard', 's3-gateway']) {
  await import(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url).href)
}
process.send?.('all ready')
