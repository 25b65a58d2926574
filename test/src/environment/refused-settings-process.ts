// Starts apps in one process, which loads their libraries once. Each app reports the settings that it refuses on
// stderr, between a line with its name and a line with its exit code. The arguments are the names.
const exit = process.exit.bind(process)
// The first app would end the process.
process.exit = ((code?: number) => console.error(`exit ${code}`)) as typeof process.exit
for (const app of process.argv.slice(2)) {
  console.error(`app ${app}`)
  await import(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url).href)
}
exit()
