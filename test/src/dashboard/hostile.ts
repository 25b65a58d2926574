/** Text that would do harm if it were interpreted as HTML, a script or part of an address. */
export const hostile = `<script>document.title='broken'</script>"'><img src=x onerror=document.title='broken'>&amp; ../%2e`
