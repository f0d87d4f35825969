// A station by P/Invoke: products, results, a million samples, a plot, SQL, a backup and errors.
using System;
using System.Runtime.InteropServices;
using System.Text;

static class Native {
    const string Library = "stationdb_c";
    const UnmanagedType Wide = UnmanagedType.LPWStr;
    [DllImport(Library)]
    public static extern int sdb_open_utf16([MarshalAs(Wide)] string path, long pathLength,
        [MarshalAs(Wide)] string options, long optionsLength, out ulong store, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_session_utf16(ulong store, [MarshalAs(Wide)] string user,
        long userLength, [MarshalAs(Wide)] string options, long optionsLength, out ulong session,
        out ulong error);
    [DllImport(Library)]
    public static extern int sdb_call_utf16(ulong caller, [MarshalAs(Wide)] string operation,
        long operationLength, [MarshalAs(Wide)] string json, long jsonLength, ulong control,
        out ulong answer, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_sql_utf16(ulong session, [MarshalAs(Wide)] string statement,
        long statementLength, [MarshalAs(Wide)] string parameters, long parametersLength,
        ulong control, out ulong rows, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_text_length(ulong text, out long bytes, out long units,
        out ulong error);
    [DllImport(Library, CharSet = CharSet.Unicode)]
    public static extern int sdb_text_copy_utf16(ulong text, [Out] char[] buffer, long capacity,
        out long length, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_free(ulong handle, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_close(ulong store, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_append_f64(ulong caller, byte[] table, long tableLength,
        byte[] columns, long columnsLength, long[] index, double[] values, long rows,
        out ulong error);
    [DllImport(Library)]
    public static extern int sdb_decimate_f64(ulong caller, byte[] table, long tableLength,
        byte[] request, long requestLength, ulong control, [Out] double[] values, long columns,
        long capacity, out long rows, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_rows_next(ulong rows, out long count, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_rows_f64(ulong rows, int column, [Out] double[] values,
        long capacity, out long count, out ulong error);
    [DllImport(Library)]
    public static extern int sdb_rows_text(ulong rows, int column, long row, out ulong text,
        out ulong error);
    [DllImport(Library)]
    public static extern int sdb_backup(ulong store, byte[] target, long targetLength,
        ulong control, out ulong report, out ulong error);
}

class Failure : Exception {
    public readonly int Code;
    public Failure(int code, string text) : base(text) { Code = code; }
}

static class Program {
    static string Text(ulong handle) {
        long bytes, units;
        ulong error;
        Native.sdb_text_length(handle, out bytes, out units, out error);
        char[] buffer = new char[units + 1];
        Native.sdb_text_copy_utf16(handle, buffer, units + 1, out units, out error);
        Native.sdb_free(handle, out error);
        return new string(buffer, 0, (int)units);
    }

    static void Ok(int code, ulong error) {
        if (code != 0) throw new Failure(code, Text(error));
    }

    static string Call(ulong caller, string operation, string json) {
        ulong answer, error;
        Ok(Native.sdb_call_utf16(caller, operation, -1, json, -1, 0, out answer, out error), error);
        return Text(answer);
    }

    static void Check(bool holds, string what) {
        if (!holds) throw new Exception(what);
    }

    static void Refused(int code, Action work) {
        try {
            work();
        } catch (Failure failure) {
            Check(failure.Code == code && failure.Message.Length > 10,
                failure.Code + ": " + failure.Message);
            return;
        }
        throw new Exception("the code " + code + " was expected");
    }

    static byte[] Utf8(string text) { return Encoding.UTF8.GetBytes(text); }

    static int Main(string[] arguments) {
        string directory = arguments[0];
        ulong store, session, error, rows, text;
        long count;
        Ok(Native.sdb_open_utf16(directory + "/Größe 𝄞", -1, "", -1, out store, out error), error);
        Ok(Native.sdb_session_utf16(store, "ada", -1, "{\"workspace\": \"line-3\"}", -1,
            out session, out error), error);
        Call(session, "create_products",
            "{\"products\": [{\"partNumber\": \"P-𝄞\", \"family\": \"Größe\"}]}");
        Call(session, "create_results",
            "{\"results\": [{\"partNumber\": \"P-𝄞\", \"programName\": \"Final\", \"status\": {\"statusType\": \"PASSED\"}}]}");
        Check(Call(session, "query_products",
            "{\"filter\": \"family == \\\"Größe\\\"\"}").Contains("P-𝄞"), "the product");
        string created = Call(session, "create_table", "{\"name\": \"ramp\", \"columns\": ["
            + "{\"name\": \"t\", \"dataType\": \"INT64\", \"columnType\": \"INDEX\"}, "
            + "{\"name\": \"v\", \"dataType\": \"FLOAT64\"}]}");
        byte[] table = Utf8(created.Split('"')[3]);
        const int Block = 10000;
        byte[] columns = Utf8("[\"t\", \"v\"]");
        for (int block = 0; block < 100; block++) {
            long[] index = new long[Block];
            double[] values = new double[Block];
            for (int i = 0; i < Block; i++) {
                index[i] = block * Block + i;
                values[i] = index[i] == 777777 ? 9 : Math.Sin(index[i] / 1000.0);
            }
            Ok(Native.sdb_append_f64(session, table, table.Length, columns, columns.Length, index,
                values, Block, out error), error);
        }
        const int Points = 4096;
        double[] plot = new double[2 * Points];
        byte[] request = Utf8("{\"columns\": [\"t\", \"v\"], \"decimation\": {\"yColumns\": [\"v\"], \"intervals\": 500, \"method\": \"MAX_MIN\"}}");
        Ok(Native.sdb_decimate_f64(session, table, table.Length, request, request.Length, 0, plot,
            2, Points, out count, out error), error);
        bool peak = false;
        for (int i = 0; i < count; i++) peak |= plot[i] == 777777 && plot[Points + i] == 9;
        Check(peak, "the peak of " + count + " rows");
        Ok(Native.sdb_sql_utf16(session, "select max(v), max(part_number) from ramp, products", -1,
            "", -1, 0, out rows, out error), error);
        Ok(Native.sdb_rows_next(rows, out count, out error), error);
        double[] top = new double[1];
        Ok(Native.sdb_rows_f64(rows, 0, top, 1, out count, out error), error);
        Check(count == 1 && top[0] == 9, "the peak by SQL");
        Ok(Native.sdb_rows_text(rows, 1, 0, out text, out error), error);
        Check(Text(text) == "P-𝄞", "the text by SQL");
        Ok(Native.sdb_free(rows, out error), error);
        byte[] target = Utf8(directory + "/backup");
        Ok(Native.sdb_backup(store, target, target.Length, 0, out text, out error), error);
        Check(Text(text).Contains("\"findings\":[]"), "the report");
        Refused(2, () => Call(session, "query_product", ""));
        Refused(1, () =>
            Call(session, "query_products", "{\"take\": \"x\"}"));
        Refused(10, () => {
            ulong second, told;
            int code = Native.sdb_open_utf16(directory + "/Größe 𝄞", -1, "", -1, out second, out told);
            Ok(code, told);
        });
        Refused(100, () => Call(store, "query_products", ""));
        byte[] itself = Utf8(directory + "/Größe 𝄞");
        Refused(1, () => {
            ulong report, told;
            int code = Native.sdb_backup(store, itself, itself.Length, 0, out report, out told);
            Ok(code, told);
        });
        Ok(Native.sdb_close(store, out error), error);
        Refused(102, () => Call(session, "query_products", ""));
        Ok(Native.sdb_free(session, out error), error);
        Console.WriteLine("done");
        return 0;
    }
}
