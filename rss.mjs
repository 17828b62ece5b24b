import fs from 'fs';
const {analyze,closeAnalysis}=await import('./node_modules/.cache/try/dist/apps/chimech/analyze/analyze.js');
const md=fs.readFileSync('docs/api.md','utf8').slice(0,4000),ts=fs.readFileSync('libs/concurrency/batch.ts','utf8').slice(0,4000),csv='id,name,price\n'+Array.from({length:150},(_,i)=>`${i},"name, ${i}",${i/3}`).join('\n'),zh='人工智能正在改变我们的生活方式。机器学习算法能够从大量数据中发现规律，并用于预测未来的趋势。'.repeat(20);
const rss=()=>Math.round(process.memoryUsage().rss/1e6);const out=[rss()];
for(const [type,content] of [['data',csv],['text',md],['text',zh],['code',ts],['code',fs.readFileSync('node_modules/pg/lib/client.js','utf8').slice(0,6000)]]){await analyze({content,type},{signal:AbortSignal.timeout(9000)});out.push(type+' '+rss())}
for(let i=0;i<40;i++)await analyze({content:[md,ts,csv,zh][i%4],type:['text','code','data','text'][i%4]},{signal:AbortSignal.timeout(9000)});
out.push('40 more '+rss());await closeAnalysis();await new Promise(r=>setTimeout(r,500));out.push('closed '+rss());console.log(out.join(', '));
